/** The parts of the Messages dialect we read; every field may be missing, whatever the book says. */
export interface WireEvent {
  readonly type?: string;
  readonly index?: number;
  readonly message?: { readonly usage?: WireUsage };
  readonly content_block?: WireBlock;
  readonly delta?: WireDelta;
  readonly usage?: WireUsage;
  readonly error?: { readonly type?: unknown; readonly message?: unknown };
}

export interface WireMessage {
  readonly content?: readonly WireBlock[];
  readonly stop_reason?: string;
  readonly usage?: WireUsage;
}

export interface WireBlock {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly name?: string;
  readonly input?: object | null;
}

export interface WireDelta {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly partial_json?: string;
  readonly stop_reason?: string | null;
}

export interface WireUsage {
  input_tokens?: number;
  cache_creation_input_tokens?: number;
  /** The same by how long it is kept; gateways leave it out. */
  cache_creation?: { readonly ephemeral_5m_input_tokens?: number; readonly ephemeral_1h_input_tokens?: number } | null;
  cache_read_input_tokens?: number;
  output_tokens?: number;
}
