/**
 * An immutable list, as plain data. Adding and replacing an element copies one node of 32 elements per level and shares
 * the rest, so that the cost does not grow with the length.
 */
export interface List<T> {
  readonly length: number;
  /** Number of index bits below the root node. */
  readonly shift: number;
  readonly root: Node<T>;
}

type Node<T> = readonly (Node<T> | T | undefined)[];

const BITS = 5;
const MASK = 31;

export const emptyList: List<never> = { length: 0, shift: 0, root: [] };

export function listOf<T>(values: readonly T[]): List<T> {
  return values.reduce<List<T>>(push, emptyList);
}

/** Returns the element at an index; undefined if there is none. */
export function at<T>({ length, shift, root }: List<T>, index: number): T | undefined {
  return index < 0 || index >= length ? undefined : find(root, shift, index);
}

export function push<T>(list: List<T>, value: T): List<T> {
  const { length, shift, root } = list;
  const isFull = length === 1 << (shift + BITS);
  const grown = isFull ? { root: [root] as Node<T>, shift: shift + BITS } : list;
  return { length: length + 1, shift: grown.shift, root: withValue(grown.root, grown.shift, { index: length, value }) };
}

/** Replaces an element. The index must be within the list. */
export function replace<T>({ length, shift, root }: List<T>, index: number, value: T): List<T> {
  return { length, shift, root: withValue(root, shift, { index, value }) };
}

/** Yields the elements from the first index up to, but not including, the second. */
export function* elements<T>(list: List<T>, from = 0, to = list.length): Generator<T> {
  for (let index = Math.max(0, from); index < Math.min(to, list.length); index++) yield at(list, index) as T;
}

/** An immutable map with strings as keys, as plain data, with the same cost as a list. */
export interface PersistentMap<V> {
  readonly root: Node<Bucket<V>>;
}

/** Entries whose keys have the same hash. */
type Bucket<V> = readonly { readonly key: string; readonly value: V }[];

/** Number of hash bits below the root node, for 32,768 buckets. */
const HASH_SHIFT = 2 * BITS;

export const emptyMap: PersistentMap<never> = { root: [] };

export function get<V>({ root }: PersistentMap<V>, key: string): V | undefined {
  return find(root, HASH_SHIFT, hashOf(key))?.find((entry) => entry.key === key)?.value;
}

export function set<V>({ root }: PersistentMap<V>, key: string, value: V): PersistentMap<V> {
  const index = hashOf(key);
  const others = (find(root, HASH_SHIFT, index) ?? []).filter((entry) => entry.key !== key);
  return { root: withValue(root, HASH_SHIFT, { index, value: [...others, { key, value }] }) };
}

function find<T>(root: Node<T>, shift: number, index: number): T | undefined {
  let node: Node<T> | undefined = root;
  for (let bits = shift; bits > 0; bits -= BITS) node = node?.[(index >>> bits) & MASK] as Node<T> | undefined;
  return node?.[index & MASK] as T | undefined;
}

interface Change<T> {
  readonly index: number;
  readonly value: T;
}

function withValue<T>(node: Node<T>, shift: number, change: Change<T>): Node<T> {
  const copy = node.slice();
  const slot = (change.index >>> shift) & MASK;
  copy[slot] = shift === 0 ? change.value : withValue((copy[slot] as Node<T> | undefined) ?? [], shift - BITS, change);
  return copy;
}

/** Hashes a key to 15 bits (FNV-1a). */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 15)) & 0x7fff;
}
