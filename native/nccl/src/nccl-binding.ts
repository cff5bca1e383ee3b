declare const kind: unique symbol;

/**
 * A C++ object owned by a JavaScript value. Free it explicitly if possible; otherwise it is freed
 * some time after garbage collection.
 */
interface Held<Kind extends string> {
  readonly [kind]: Kind;
}

/** A piece of device memory. */
export type BufferHandle = Held<'buffer'>;
/** The local ranks of one communicator. */
export type CommunicatorHandle = Held<'communicator'>;

/** Version of the addon's exports; must equal the version in `cpp/addon`. */
export const ncclInterface = 3;

/** NCCL's codes for element types. NCCL has no code for bool and for 16-bit integers. */
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

/**
 * NCCL's codes for reduce ops. `average` multiplies by 1/n, rounded to the element type, so its
 * results differ from those of a division.
 */
export const ncclOp = { sum: 0, prod: 1, max: 2, min: 3, average: 4 } as const;

/** Kinds of collectives, in the order of `Kind` in C++. */
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

/** The file from which a library was opened, or why it cannot be used. */
export interface LibraryFinding {
  /** The file that was opened; undefined if there is none. */
  readonly path?: string;
  /**
   * How the file was found, such as `VIRTUAL_ENV`. `current folder` means that the current folder
   * contains a Python environment with the file.
   */
  readonly how?: string;
  /**
   * For CUDA: the version that the driver supports, as 1000 * major + 10 * minor. For NCCL: its
   * version code, 22809 for 2.28.9.
   */
  readonly version?: number;
  /**
   * Whether the library is a test double of this project, whose results say nothing about a GPU.
   */
  readonly isDouble: boolean;
  /** Error message if the library cannot be used; undefined if it can. */
  readonly failure?: string;
}

/** What the driver reports about a GPU. */
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
  /** The GPUs that the driver reports; empty if the driver cannot be used. */
  readonly devices: readonly DeviceFinding[];
}

/**
 * Libraries to load. Default: the locations listed in docs/guides/gpus.md. The choice in the first call of
 * a process applies to all its threads.
 */
export interface LibraryChoice {
  /** Path of the CUDA driver. */
  readonly cudaLibrary?: string;
  /** NCCL's file or folder, from an environment variable; overrides `libraryPath`. */
  readonly ncclLibrary?: string;
  /**
   * NCCL's file or folder, as chosen by the program. `probe` throws if the process already uses
   * another NCCL.
   */
  readonly libraryPath?: string;
  /** Path of NVML, which NCCL needs. */
  readonly nvmlLibrary?: string;
}

/**
 * Reason for a failure. `spoiled`: a failed operation has left the buffer in an unknown state;
 * `broken`: the communicator failed before; `stuck`: a native thread does not return, so the
 * process must exit; `machine`: the machine lacks what NCCL needs, such as shared memory.
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

/** The error that the addon's promises reject with and its functions throw. */
export interface BindingError extends Error {
  readonly kind: FailureKind;
  /** CUDA's or NCCL's result code; 0 for the addon's own errors. */
  readonly code: number;
  /** The operation that failed, such as `all-reduce`. */
  readonly operation: string;
  /** The communicator's name; empty if the operation has no communicator. */
  readonly group: string;
  /**
   * Index of the operation in its communicator, from 1. Operations without a communicator are
   * counted per process.
   */
  readonly sequence: number;
}

export interface Settings {
  /** Timeout for operations that are called without a timeout of their own. */
  readonly timeoutMillis: number;
  /** How long an abort may take before the process counts as stuck. */
  readonly abortGraceMillis: number;
}

export interface CommunicatorRequest {
  readonly size: number;
  /** The ranks of this process; `devices` holds the device of each. */
  readonly ranks: readonly number[];
  readonly devices: readonly number[];
  /** Name of the group in errors, the flight recorder and NCCL's logs. */
  readonly name: string;
  /**
   * Whether a call blocks NCCL's native thread until it is done, which saves some microseconds.
   * Only non-blocking communicators are sure to end when aborted. Default: true.
   */
  readonly blocking?: boolean;
}

/** One of the communicators that result from a split. */
export interface SplitPart {
  readonly communicator: CommunicatorHandle;
  readonly color: number;
  readonly size: number;
  /**
   * For each local member of this part: the index of its rank in the list `ranks` of the original
   * communicator. `ranks` below contains the members' ranks in this part.
   */
  readonly places: readonly number[];
  readonly ranks: readonly number[];
}

/**
 * One operation in the flight recorder. Times are in milliseconds on the clock of
 * `performance.timeOrigin + performance.now()`.
 */
export interface FlightEntry {
  readonly group: string;
  readonly sequence: number;
  readonly operation: string;
  /**
   * The dtype of a collective; undefined for other operations. A group call of several collectives
   * has the dtype and op of the first one, and the number of elements of all of them, as NCCL
   * counts them.
   */
  readonly dtype?: string;
  readonly op?: string;
  readonly elements?: number;
  readonly state: 'queued' | 'launched' | 'done' | 'failed';
  readonly queued: number;
  /** Time of the launch; 0 if the operation has not been launched yet. */
  readonly launched: number;
  readonly settled: number;
}

/** Numbers of objects that exist in the whole process. */
export interface Counts {
  readonly buffers: number;
  readonly bufferBytes: number;
  readonly hostBytes: number;
  readonly communicators: number;
  readonly unsettled: number;
}

/**
 * The addon, as exported by `cpp/addon`.
 *
 * - Promises resolve when the device has finished, and reject with a BindingError. Operations that
 *   share a buffer execute in the order of the calls, even across devices and communicators, so
 *   callers need not await in between.
 * - Offsets and lengths are in bytes, counts in elements. Calls that would exceed a buffer are
 *   refused before any data moves.
 * - Views are read and written in place until the promise settles; until then, callers must not
 *   detach them. The addon keeps them alive.
 * - Only pending promises keep the process alive.
 */
export interface NcclBinding {
  /** The `ncclInterface` with which the binary was built. */
  readonly interface: number;
  /**
   * Searches for the libraries and queries them. Never throws. The first call takes as long as the
   * driver needs to start.
   */
  probe(choice: LibraryChoice): Findings;
  /** Changes settings of the whole process. */
  configure(settings: Settings): void;
  /**
   * Registers a listener that is called once, with an error message, if native threads are still
   * running after an abort. If that has already happened, the listener is called at once.
   */
  onStuck(listener: (message: string) => void): void;

  /**
   * Returns a buffer that can be used at once. If memory is exhausted, operations that use the
   * buffer are rejected. `bytes` may be 0.
   */
  allocate(device: number, bytes: number): BufferHandle;
  /**
   * A buffer over existing memory, which must outlive the buffer and all operations on it. To check
   * that the memory is valid, call `address`.
   */
  adopt(device: number, pointer: bigint, bytes: number): BufferHandle;
  /** Frees the memory after all previous operations; later uses throw. Idempotent. */
  free(buffer: BufferHandle): void;
  /** The address on the GPU; resolves when the memory has been allocated. */
  address(buffer: BufferHandle): Promise<bigint>;
  write(into: BufferHandle, offset: number, from: ArrayBufferView): Promise<void>;
  read(from: BufferHandle, offset: number, into: ArrayBufferView): Promise<void>;
  /** Copies bytes within one device or between two. */
  copy(into: BufferHandle, intoOffset: number, from: BufferHandle, fromOffset: number, bytes: number): Promise<void>;
  /**
   * Fills memory with `pattern` of 1, 2, 4 or 8 bytes; `bytes` must be a multiple of its length.
   */
  fill(into: BufferHandle, offset: number, bytes: number, pattern: Uint8Array): Promise<void>;
  /** Allocates pinned memory, whose views transfer without an extra copy. */
  allocateHost(bytes: number): Promise<ArrayBuffer>;
  /**
   * Detaches pinned memory, and frees it when nothing uses it. Garbage collection frees it as well.
   */
  freeHost(memory: ArrayBuffer): void;
  /** Free and total bytes of the device's memory, as the driver counts them for all processes. */
  memory(device: number): Promise<{ readonly free: number; readonly total: number }>;
  /**
   * Makes later operations on the device wait for the work that is now in another stream (a
   * CUstream).
   */
  waitFor(device: number, stream: bigint): Promise<void>;
  /**
   * Makes later work in another stream wait for all previous operations on this buffer. Resolves
   * when this order is set up, not when the operations are done.
   */
  orderAfter(stream: bigint, buffer: BufferHandle): Promise<void>;

  /**
   * Computes into = from / divisor. Floating types keep their dtype, are rounded once, and may be
   * divided in place; for integers, `intoDtype` must be float32 or float64.
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
  /**
   * Computes into = inputs[0] op inputs[1] …, in this order, for up to `mostInputs` inputs. Half
   * types are combined in float32 and rounded once.
   */
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
  /**
   * Copies many pieces on one device in one launch. `pieces` has three numbers per piece: offset in
   * `into`, offset in `from`, bytes. Pieces must not overlap.
   */
  copyPieces(into: readonly BufferHandle[], from: readonly BufferHandle[], pieces: Float64Array): Promise<void>;

  /**
   * Returns NCCL's unique id of 128 bytes. Call it in the process of rank 0 shortly before ranks
   * join, because it starts a listener.
   */
  uniqueId(): Promise<Uint8Array>;
  /**
   * Creates a communicator. It must be opened before use, and may be aborted at any time. If the
   * calling thread ends without closing the communicator, the communicator is aborted.
   */
  communicator(request: CommunicatorRequest): CommunicatorHandle;
  /**
   * Resolves when all ranks have arrived. `id`: the result of one `uniqueId()`, equal on all ranks,
   * used only once. Other operations proceed in the meantime, unless the communicator is blocking.
   */
  open(communicator: CommunicatorHandle, id: Uint8Array, timeoutMillis: number): Promise<void>;
  /**
   * Splits a communicator; all its ranks must call it. There is one color and one key per local
   * rank; a rank with a negative color joins no part. Parts with `isSharing` use the resources of
   * their parent, and are closed with it.
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
   * Executes one group call. `calls` has five numbers per collective: kind, dtype, op, root and
   * count; as in NCCL, `count` is the length of a block if the collective has blocks, else of the
   * whole. The other lists hold, per collective and local rank in this order, a buffer and its byte
   * offset; undefined if the rank does not read or write.
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
  /** Ends the communicator at once; current operations are rejected with `reason`. */
  abort(communicator: CommunicatorHandle, reason: string): void;
  /** Closes the communicator after all previous operations. All ranks of a host must call it. */
  destroy(communicator: CommunicatorHandle): Promise<void>;

  /** The latest 1024 operations, oldest first. */
  flightRecorder(): readonly FlightEntry[];
  counts(): Counts;
}
