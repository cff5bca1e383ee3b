declare const kind: unique symbol;

/** A C++ object behind a JavaScript value. One that is collected is queued to be freed; better to free it by hand. */
interface Held<Kind extends string> {
  readonly [kind]: Kind;
}

/** A piece of device memory. */
export type BufferHandle = Held<'buffer'>;
/** The ranks of one communicator that live in this process. */
export type CommunicatorHandle = Held<'communicator'>;

/** Of the exports; the same number is in `cpp/addon`. */
export const ncclInterface = 3;

/** NCCL's numbers of what a call does to its element type. There are none for bool and 16-bit integers. */
export const ncclDtype = {
  int8: 0,
  uint8: 1,
  int32: 2,
  uint32: 3,
  int64: 4,
  uint64: 5,
  float16: 6,
  float32: 7,
  float64: 8,
  bfloat16: 9,
} as const;

/** NCCL's numbers of operations. `average` rounds 1/n to the element type first: not the same as a division. */
export const ncclOp = { sum: 0, prod: 1, max: 2, min: 3, average: 4 } as const;

/** The order is that of `Kind` in C++. */
export const ncclKind = {
  allReduce: 0,
  reduce: 1,
  broadcast: 2,
  allGather: 3,
  reduceScatter: 4,
  gather: 5,
  scatter: 6,
  allToAll: 7,
} as const;

/** Where a library was opened, or the sentence that says why there is none. */
export interface LibraryFinding {
  /** The file that was opened. Absent: none. */
  readonly path?: string;
  /** How it was found, such as `VIRTUAL_ENV`; `current folder` is a Python environment there. */
  readonly how?: string;
  /** CUDA: 1000 * major + 10 * minor, what the driver supports; NCCL: its version code, 22809 for 2.28.9. */
  readonly version?: number;
  /** It is a test double of ours: nothing that runs on it says anything about a GPU. */
  readonly isDouble: boolean;
  /** One sentence: why it cannot be used. Absent: it can. */
  readonly failure?: string;
}

/** What the driver says of a GPU. */
export interface DeviceFinding {
  readonly index: number;
  readonly name: string;
  readonly uuid: string;
  readonly busId: string;
  readonly capability: readonly [major: number, minor: number];
  readonly bytes: number;
  readonly multiprocessors: number;
}

export interface Findings {
  readonly driver: LibraryFinding;
  readonly nccl: LibraryFinding;
  /** Empty where the driver has a failure. */
  readonly devices: readonly DeviceFinding[];
}

/** Absent: the places of the docs. The first call of a process decides for all its threads. */
export interface LibraryChoice {
  /** A file. */
  readonly cudaLibrary?: string;
  /** What the environment names: a file, or a folder to look in. Comes before `libraryPath`. */
  readonly ncclLibrary?: string;
  /** What the program names, likewise. Where the process uses another one already, the call throws. */
  readonly libraryPath?: string;
  /** A file: NVML, which NCCL needs. */
  readonly nvmlLibrary?: string;
}

/**
 * What went wrong. `spoiled`: the buffer holds what a failed operation left; `broken`: the communicator failed before; `stuck`:
 * a native thread does not come back, only the end of the process helps; `machine`: it lacks what NCCL needs, such as shared memory.
 */
export type FailureKind =
  | 'invalid-argument'
  | 'out-of-memory'
  | 'no-library'
  | 'cuda'
  | 'nccl'
  | 'timeout'
  | 'aborted'
  | 'broken'
  | 'spoiled'
  | 'stuck'
  | 'closed'
  | 'machine';

/** What promises of the addon are rejected with, and what its functions throw. */
export interface BindingError extends Error {
  readonly kind: FailureKind;
  /** CUDA's or NCCL's result; 0 where the error is our own. */
  readonly code: number;
  /** What was under way, such as `all-reduce`. */
  readonly operation: string;
  /** The communicator's name; empty where none takes part. */
  readonly group: string;
  /** Counts the operations of a communicator from 1; those of none in the whole process. */
  readonly sequence: number;
}

export interface Settings {
  /** For whatever has no timeout of its own. */
  readonly timeoutMillis: number;
  /** How long an abort may take before the process counts as stuck. */
  readonly abortGraceMillis: number;
}

export interface CommunicatorRequest {
  readonly size: number;
  /** The ranks of this process, and the device of each. */
  readonly ranks: readonly number[];
  readonly devices: readonly number[];
  /** For errors, the flight recorder, and NCCL's logs. */
  readonly name: string;
  /** Whether NCCL keeps the native thread until a call is done, which saves some microseconds. NCCL promises an end to others only. Absent: true. */
  readonly blocking?: boolean;
}

/** One of those that a split makes. */
export interface SplitPart {
  readonly communicator: CommunicatorHandle;
  readonly color: number;
  readonly size: number;
  /** Places in the parent's `ranks`, and the rank that each has here. */
  readonly places: readonly number[];
  readonly ranks: readonly number[];
}

/** One operation as the flight recorder keeps it. Times are milliseconds on the clock of `performance.timeOrigin + performance.now()`. */
export interface FlightEntry {
  readonly group: string;
  readonly sequence: number;
  readonly operation: string;
  /** Of a collective: of several the first's, and the elements of all, as NCCL counts them. */
  readonly dtype?: string;
  readonly op?: string;
  readonly elements?: number;
  readonly state: 'queued' | 'launched' | 'done' | 'failed';
  readonly queued: number;
  /** 0 while it has not come so far. */
  readonly launched: number;
  readonly settled: number;
}

/** What exists now in the whole process. */
export interface Counts {
  readonly buffers: number;
  readonly bufferBytes: number;
  readonly hostBytes: number;
  readonly communicators: number;
  readonly unsettled: number;
}

/**
 * The addon, as `cpp/addon` exports it.
 *
 * - Promises resolve when the device has finished, and reject with a BindingError. Nothing has to be awaited in between:
 *   operations that share a buffer happen in the order of the calls, also across devices and communicators.
 * - Offsets and lengths are bytes, counts are elements. What would read or write out of bounds is refused before anything moves.
 * - Views are read and written where they are, until the promise settles: they must not be detached before. The addon keeps them alive.
 * - A promise that is not settled keeps the process alive; nothing else here does.
 */
export interface NcclBinding {
  /** `ncclInterface`, of the binary. */
  readonly interface: number;
  /** Looks for the libraries and asks them. Never throws; costs as much as the driver's start the first time. */
  probe(choice: LibraryChoice): Findings;
  /** For the whole process. */
  configure(settings: Settings): void;
  /** Called once, with one sentence, when native threads do not come back after an abort; at once where that is known. */
  onStuck(listener: (message: string) => void): void;

  /** The handle can be used at once; where there is no memory, whatever uses it is rejected. Zero bytes are allowed. */
  allocate(device: number, bytes: number): BufferHandle;
  /** Memory of somebody else, which must stay until the buffer is freed and all that uses it has settled. `address` checks it. */
  adopt(device: number, pointer: bigint, bytes: number): BufferHandle;
  /** After all that uses it so far; again is fine. Whatever uses it later throws. */
  free(buffer: BufferHandle): void;
  /** Resolves when the memory is there. */
  address(buffer: BufferHandle): Promise<bigint>;
  write(into: BufferHandle, offset: number, from: ArrayBufferView): Promise<void>;
  read(from: BufferHandle, offset: number, into: ArrayBufferView): Promise<void>;
  /** On one device or between two. */
  copy(into: BufferHandle, intoOffset: number, from: BufferHandle, fromOffset: number, bytes: number): Promise<void>;
  /** `pattern` is 1, 2, 4 or 8 bytes; `bytes` a multiple of them. */
  fill(into: BufferHandle, offset: number, bytes: number, pattern: Uint8Array): Promise<void>;
  /** Pinned memory: views of it move without a copy in between. */
  allocateHost(bytes: number): Promise<ArrayBuffer>;
  /** Detaches it and frees the memory when nothing uses it; a collected one is freed as well. */
  freeHost(memory: ArrayBuffer): void;
  /** Bytes, as the driver counts them for all processes together. */
  memory(device: number): Promise<{ readonly free: number; readonly total: number }>;
  /** Orders this device's next operations after what another stream (a CUstream) holds now, such as a producer's. */
  waitFor(device: number, stream: bigint): Promise<void>;
  /** Orders what another stream gets next after the operations on this buffer so far. The promise says that it is ordered, not done. */
  orderAfter(stream: bigint, buffer: BufferHandle): Promise<void>;

  /**
   * into = from / divisor. Floating types: the same dtype, rounded once, in place or not. Integers: `intoDtype` is float32 or
   * float64.
   */
  divide(
    into: BufferHandle,
    intoOffset: number,
    intoDtype: number,
    from: BufferHandle,
    fromOffset: number,
    fromDtype: number,
    count: number,
    divisor: number,
  ): Promise<void>;
  /** into = inputs[0] op inputs[1] …, in this order; half types are combined in float32 and rounded once. Up to `mostInputs`. */
  combine(
    into: BufferHandle,
    intoOffset: number,
    inputs: readonly BufferHandle[],
    offsets: Float64Array,
    dtype: number,
    op: number,
    count: number,
  ): Promise<void>;
  readonly mostInputs: number;
  /** Many copies of one device in one launch. Three numbers each: offset into, offset from, bytes. The pieces must not overlap. */
  copyPieces(into: readonly BufferHandle[], from: readonly BufferHandle[], pieces: Float64Array): Promise<void>;

  /** 128 bytes. In the process of rank 0, when ranks are about to join: it starts a listener. */
  uniqueId(): Promise<Uint8Array>;
  /** One that has to be opened; it can be aborted at once. Where its thread ends before it was closed, it is aborted. */
  communicator(request: CommunicatorRequest): CommunicatorHandle;
  /**
   * Resolves when all ranks have come. `id`: 128 bytes of `uniqueId()`, the same for all ranks, once only. Other operations go on meanwhile, unless it is
   * blocking.
   */
  open(communicator: CommunicatorHandle, id: Uint8Array, timeoutMillis: number): Promise<void>;
  /**
   * One color and key for each local rank; a color below 0 takes no part. All ranks of the parent call it. Parts that share use the resources of
   * their parent, and end with it.
   */
  split(
    parent: CommunicatorHandle,
    colors: readonly number[],
    keys: readonly number[],
    name: string,
    isSharing: boolean,
    timeoutMillis: number,
  ): Promise<readonly SplitPart[]>;
  /**
   * One group call. `calls` has five numbers for each: kind, dtype, op, root, count. `count` is NCCL's: of a block where there
   * are blocks, of the whole otherwise. For each call and local rank, in this order: a buffer and its byte offset. Where
   * a rank only reads or only writes, the other list has undefined.
   */
  run(
    communicator: CommunicatorHandle,
    calls: Float64Array,
    inputs: readonly (BufferHandle | undefined)[],
    inputOffsets: Float64Array,
    outputs: readonly (BufferHandle | undefined)[],
    outputOffsets: Float64Array,
    timeoutMillis: number,
  ): Promise<void>;
  /** Ends it now: what is under way is rejected with `reason`. */
  abort(communicator: CommunicatorHandle, reason: string): void;
  /** After all that uses it so far. All ranks of a host call it. */
  destroy(communicator: CommunicatorHandle): Promise<void>;

  /** The latest 1024 operations, oldest first. */
  flightRecorder(): readonly FlightEntry[];
  counts(): Counts;
}
