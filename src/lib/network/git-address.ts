/**
 * Returns true if git reaches a repository at this address over the network. If an address is a path, git runs the hooks
 * of the repository there, and an address such as `ext::./program` runs any program.
 */
export function isNetworkRepository(address: string): boolean {
  if (address.includes("://")) return /^(https?|ssh|git|git\+ssh|ssh\+git):\/\//i.test(address);
  return /^([\w.-]+@)?[\w.-]+:(?!:)/.test(address);
}
