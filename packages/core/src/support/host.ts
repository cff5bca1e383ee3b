/**
 * What a strategy needs from the program that runs it. `@coll/strategy` has an implementation for
 * Node.js; no other code of that package or this one imports Node.js modules.
 * @typeParam Loading how a thread imports modules; plain data that can be posted
 */
export interface Host<Loading = unknown> {
  /** Whether a bundler has joined the program and this library. */
  isBundled(): boolean;
  /** Whether the values of `createContext` follow code behind an `await`. */
  readonly followsPromises: boolean;
  /** Creates a value that follows running code into its asynchronous calls. */
  createContext<T>(): HostContext<T>;
  /** Calls back once all promise callbacks that are due have run. */
  afterPromises(callback: () => void): void;
  /** Calls back in the next turn of the event loop. */
  nextTurn(callback: () => void): void;
  /**
   * Calls back again and again, without keeping the program alive.
   * @returns a function that ends this
   */
  every(millis: number, callback: () => void): () => void;
  /** Settles once the program has passed on everything that it has printed. */
  flushOutput(): Promise<unknown>;
  /**
   * Determines how threads import these modules, the most important one first.
   * @throws CollError for a module that threads cannot import
   */
  loadingOf(modules: readonly string[]): Loading;
  /**
   * Checks that a thread started for other modules can import `module`, too.
   * @throws CollError otherwise
   */
  requireSameCopy(module: string, wanted: Loading, started: Loading): void;
  /**
   * Starts a thread that runs the replicas of a strategy.
   * @throws DOMException for data that cannot be posted
   */
  startThread(options: ThreadOptions<Loading>): HostThread;
  /**
   * The thread that this code runs in, if `startThread` has started it; undefined in other threads, and from the second
   * call on.
   */
  ownThread(): OwnThread<Loading> | undefined;
}

/** A value that follows running code into its asynchronous calls. */
export interface HostContext<T> {
  getStore(): T | undefined;
  run<Result>(store: T, code: () => Result): Result;
  /** Sets the value for the rest of the running code. */
  enterWith(store: T): void;
  /** Makes promises cost no more than without a value, until the next `run` or `enterWith`. */
  disable(): void;
}

/** One end of a channel between two threads. */
export interface HostChannel {
  postMessage(message: unknown, moved?: readonly ArrayBuffer[]): void;
  on<Message>(event: 'message', listener: (message: Message) => void): unknown;
  close(): void;
}

export interface ThreadOptions<Loading> {
  /** Plain data for the thread. */
  readonly data: object;
  readonly name: string;
  readonly loading: Loading;
  readonly listener: ThreadListener;
}

/** Receives the events of a thread. */
export interface ThreadListener {
  message(message: never): void;
  /** Called when output of the thread has arrived. */
  print(): void;
  /** Called when the thread has ended, after its last message; `error` is the uncaught error, if any. */
  exit(code: number, error: unknown): void;
}

/** A thread that this program has started. */
export interface HostThread extends Pick<HostChannel, 'postMessage'> {
  /** Number of chunks and bytes of output that have arrived from the thread. */
  readonly printed: { readonly chunks: number; readonly bytes: number };
  /** Settles once this program has printed all output of the thread, which has then ended. */
  readonly shown: Promise<unknown>;
  /** Sets whether the thread keeps the program alive. */
  keepAlive(isBusy: boolean): void;
  terminate(): Promise<unknown>;
}

/** The thread that this code runs in. */
export interface OwnThread<Loading> {
  /** The data that `startThread` got. Modules that are loaded later do not see it. */
  readonly data: unknown;
  readonly channel: HostChannel;
  /** Number of bytes that this thread has printed. */
  readonly printedBytes: number;
  /** Puts the number of the replica before each line that this thread prints from now on. */
  label(replica: number): void;
  /** Waits until the starting thread has received this thread's output. */
  flush(): Promise<unknown>;
  /** Prepares the thread for modules that need another loading than its first ones. */
  prepare(loading: Loading): Promise<void>;
  /** Calls back for an uncaught error that ends the thread. */
  onCrash(callback: (error: unknown) => void): void;
  /** Closes the channel, so that the thread ends once its code has. */
  end(): void;
}
