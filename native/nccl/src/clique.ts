import { createHash } from 'node:crypto';
import { type CollError, RuntimeError, UnavailableError } from '@coll/core';
import { abortedError } from '@coll/core/plugin';
import { disagreement, type Request } from './agreement.js';
import type { CallBatch } from './call-batch.js';
import type { CliqueMembers, CliqueOpening, SplitRequest } from './clique-members.js';
import { errorFor, leavesUsable } from './failures.js';
import { keepAlive } from './liveness.js';
import type { CommunicatorHandle, NcclBinding } from './nccl-binding.js';
import { type PeerBoard, type Taken, unheard } from './peer-board.js';
import { type Runtime, runtime } from './probe.js';

export interface Submission {
  /** Name of the operation, such as `all-reduce sum`. */
  readonly operation: string;
  readonly timeoutMillis: number;
}

const patienceAtCloseMillis = 5000;
const usualLostAfterSeconds = 60;

/**
 * The local ranks of one NCCL communicator. After the first failure all current and later calls
 * fail with the same error.
 */
export class Clique {
  readonly members: CliqueMembers;
  readonly binding: NcclBinding;
  readonly #handle: CommunicatorHandle;
  #splits = 0;
  readonly #pending = new Map<number, string>();
  readonly #stopWatching: readonly (() => void)[] = [];
  readonly #waiting = new Set<string>();
  readonly #ending = new AbortController();
  /**
   * The group that this group was split from, if any. If one of the two fails, the other fails,
   * too.
   */
  readonly #parent: Clique | undefined;
  readonly #parts = new Set<Clique>();
  #isOpening = false;
  #started = 0;
  /**
   * Number of calls for which the processes have compared their requests. The latest of these calls
   * may not have started yet.
   */
  #asked = 0;
  /** The process that left the group first, and the number of calls in which it took part. */
  #left: { readonly rank: number; readonly taken: Taken } | undefined;
  #failure: Promise<CollError> | undefined;
  #failed: CollError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    handle: CommunicatorHandle,
    members: CliqueMembers,
    { binding }: Pick<Runtime, 'binding'>,
    parent?: Clique,
  ) {
    this.#handle = handle;
    this.members = members;
    this.binding = binding;
    this.#parent = parent;
    const { board, lostAfterSeconds = usualLostAfterSeconds } = members;
    if (board) this.#stopWatching = [this.#watch(board), this.#keepAlive(board, lostAfterSeconds)];
  }

  /**
   * Opens a group: waits for all ranks, and fails if one of them is lost.
   * @throws the group's error if a rank is lost or does not arrive
   */
  static async open(id: Uint8Array, { timeoutMillis, signal, ...opening }: CliqueOpening): Promise<Clique> {
    const { binding } = runtime();
    const { blocking, ...rest } = opening;
    // Not the id itself, with which others could join.
    const recordId = createHash('sha256').update(id).digest('hex').slice(0, 32);
    const members = { ...rest, recordId };
    const { size, ranks, devices, name } = members;
    const handle = binding.communicator({ size, ranks, devices, name, blocking: blocking ?? ranks.length === size });
    const clique = new Clique(handle, members, { binding });
    await clique.#open(id, timeoutMillis, signal);
    return clique;
  }

  async #open(id: Uint8Array, timeoutMillis: number, signal: AbortSignal | undefined): Promise<void> {
    const operation = 'connect';
    const abort = () => void this.fail(abortedError('while it was opened', signal, { operation }));
    this.#isOpening = true;
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    try {
      await this.binding.open(this.#handle, id, timeoutMillis);
    } catch (error) {
      const failure = await this.fail(errorFor(error, { operation }) as CollError);
      for (const stop of this.#stopWatching) stop();
      throw failure;
    } finally {
      this.#isOpening = false;
      signal?.removeEventListener('abort', abort);
    }
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** The error that ended this group; undefined while the group works. */
  get failure(): CollError | undefined {
    return this.#failed;
  }

  /**
   * Compares the requests of all processes if `checkCalls` is set.
   * @throws the same error on all processes if their requests differ
   */
  async agree(request: Request, { operation, timeoutMillis }: Submission, signal: AbortSignal | undefined) {
    const { board, checkCalls } = this.members;
    if (!board || !checkCalls) return;
    if (this.#failed) throw this.#failed;
    this.#asked += 1;
    const number = this.#asked;
    this.#waiting.add(operation);
    this.#failWhereLeft(0, number);
    try {
      const ended = signal ? AbortSignal.any([signal, this.#ending.signal]) : this.#ending.signal;
      const waiting = { timeoutSeconds: timeoutMillis / 1000, signal: ended };
      const odd = disagreement(await board.ask(number, request, waiting));
      // All ranks find the same disagreement, so none has to report it.
      if (odd) this.#end(odd, async () => odd);
    } catch (error) {
      if (!this.#failure) await this.fail(errorFor(error, { operation }) as CollError);
    } finally {
      this.#waiting.delete(operation);
    }
    if (this.#failure) throw await this.#failure;
  }

  /**
   * Executes one group call; resolves when the GPUs have finished.
   * @throws the group's error once the group has failed
   */
  run(batch: CallBatch, { operation, timeoutMillis }: Submission): Promise<void> {
    return this.#take(operation, () =>
      this.binding.run(
        this.#handle,
        Float64Array.from(batch.calls),
        batch.inputs,
        Float64Array.from(batch.inputOffsets),
        batch.outputs,
        Float64Array.from(batch.outputOffsets),
        timeoutMillis,
      ),
    );
  }

  /** Executes an operation in which all ranks take part, and counts the operation. */
  async #take<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    if (this.#failed) throw this.#failed;
    this.#started += 1;
    const number = this.#started;
    this.#pending.set(number, operation);
    this.#failWhereLeft(number, 0);
    try {
      return await call();
    } catch (error) {
      if (leavesUsable(error)) throw errorFor(error, { operation });
      throw await this.fail(errorFor(error, { operation }) as CollError);
    } finally {
      this.#pending.delete(number);
    }
  }

  /**
   * Ends the group for all ranks, including those of other processes. Returns the group's error:
   * its first failure, with the state of the other processes.
   */
  fail(error: CollError): Promise<CollError> {
    // The parent clique reports the failure to the other processes.
    if (this.#parent && !this.#parent.isClosed) this.#end(error, () => (this.#parent as Clique).fail(error));
    else this.#end(error, () => this.#failPeers(error));
    return this.#failure as Promise<CollError>;
  }

  #end(error: CollError, failure: () => Promise<CollError>): void {
    if (this.#failure) return;
    this.#failed = error;
    // Deferred, because reporting the failure may call this method again.
    this.#failure = Promise.resolve().then(failure);
    this.#ending.abort(error);
    this.binding.abort(this.#handle, error.message);
    for (const part of this.#parts) part.#end(error, () => this.#failure as Promise<CollError>);
  }

  get #isWaiting(): boolean {
    const waits = this.#isOpening || this.#pending.size + this.#waiting.size > 0;
    return waits || [...this.#parts].some((part) => part.#isWaiting);
  }

  async split({ colors, keys, isSharing, timeoutMillis }: SplitRequest) {
    const name = `${this.members.name}/split`;
    const { recordId: parentId } = this.members;
    const number = this.#splits++;
    const parts = await this.#take('split', () =>
      this.binding.split(this.#handle, colors, keys, name, isSharing, timeoutMillis),
    );
    return parts.map(({ communicator, color, size, places, ranks }) => {
      const devices = places.map((place) => this.members.devices[place] as number);
      const recordId = `${parentId}/${number}.${color}`;
      const members = { size, ranks, devices, name: `${name}/${color}`, recordId, parentId };
      const clique = new Clique(communicator, members, this, this);
      this.#parts.add(clique);
      return { color, places, clique };
    });
  }

  /** Leaves the group; current calls fail. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#parent) this.#parent.#parts.delete(this);
    for (const stop of this.#stopWatching) stop();
    if (this.#pending.size + this.#waiting.size > 0) await this.fail(this.#closedError());
    else if (!this.#failed)
      await this.members.board?.leave(this.#state(), { started: this.#started, asked: this.#asked });
    if (this.#failed) return;
    // NCCL waits until all ranks of the host destroy theirs; some may never do so.
    const left = this.binding.destroy(this.#handle).then(
      () => true,
      () => true,
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), patienceAtCloseMillis);
    });
    const isLeft = await Promise.race([left, late]);
    clearTimeout(timer);
    this.#failed = this.#closedError();
    if (!isLeft) this.binding.abort(this.#handle, 'closed before the other ranks of the host');
  }

  #closedError(): CollError {
    const [operation = 'close'] = [...this.#pending.values(), ...this.#waiting];
    const message = `${operation}: the NCCL group "${this.members.name}" was closed`;
    return new RuntimeError('ERR_COLL_CLOSED', message, { operation });
  }

  /** Ends the group with an error if a call of this process waits for a process that has left. */
  #failWhereLeft(started: number, asked: number): void {
    if (!this.#left || (started <= this.#left.taken.started && asked <= this.#left.taken.asked)) return;
    const { rank } = this.#left;
    const operation = [...this.#pending.values(), ...this.#waiting].at(-1) ?? 'collective';
    const message = `${operation}: rank ${rank} has left the NCCL group "${this.members.name}" and cannot take part in further collectives`;
    void this.fail(new RuntimeError('ERR_COLL_CLOSED', message, { operation, rank }));
  }

  /** Describes what the local ranks are doing, for error messages of the other processes. */
  #state(): string {
    const [first] = this.#pending;
    const [waiting] = this.#waiting;
    if (this.#isOpening) return 'opening the group';
    if (!first && waiting) return `waiting to begin ${waiting}, number ${this.#asked}`;
    return first ? `in ${first[1]}, number ${first[0]}` : `idle after ${this.#started} operations`;
  }

  #watch(board: PeerBoard): () => void {
    return board.watch({
      failed: (error) => {
        const state = this.#state();
        this.#end(error, async () => {
          await board.answer(state);
          return error;
        });
      },
      left: (rank, taken) => {
        this.#left = { rank, taken };
        this.#failWhereLeft(Math.max(0, ...this.#pending.keys()), this.#waiting.size > 0 ? this.#asked : 0);
      },
    });
  }

  #keepAlive(board: PeerBoard, lostAfterSeconds: number): () => void {
    return keepAlive({
      board,
      lostAfterSeconds,
      isWaiting: () => this.#isWaiting,
      lost: (error) => void this.fail(error),
    });
  }

  async #failPeers(found: CollError): Promise<CollError> {
    const { board } = this.members;
    const state = this.#state();
    const error = board ? await withLostRank(found, board) : found;
    this.#failed = error;
    const peers = await board?.tell(error, state);
    if (!peers || peers.size === 0) return error;
    const others = [...peers].map(([rank, doing]) => `rank ${rank} was ${doing}`).join(', ');
    const Kind = error.constructor as new (...args: ConstructorParameters<typeof CollError>) => CollError;
    const { code, message, operation, cause } = error;
    // A lost process does not answer.
    const silent = [...peers].filter(([, doing]) => doing === unheard);
    const lost = silent.length === 1 ? silent[0]?.[0] : undefined;
    const rank = error.rank ?? (code === 'ERR_COLL_PEER_FAILED' ? lost : this.members.ranks[0]);
    const ranks =
      code === 'ERR_COLL_PEER_FAILED'
        ? allLost(
            error,
            silent.map(([other]) => other),
          )
        : error.ranks;
    const details = {
      cause,
      ranks,
      ...(rank === undefined ? {} : { rank }),
      ...(operation === undefined ? {} : { operation }),
    };
    this.#failed = new Kind(code, `${message}; ${others}`, details);
    return this.#failed;
  }
}

/** The ranks that an error names, and further ranks that were lost; undefined if there are none. */
function allLost({ rank, ranks = rank === undefined ? [] : [rank] }: CollError, others: readonly number[]) {
  const all = [...new Set([...ranks, ...others])].sort((a, b) => a - b);
  return all.length > 0 ? all : undefined;
}

/** Adds to an NCCL error which rank has exited, because NCCL does not report the rank. */
async function withLostRank(error: CollError, board: PeerBoard): Promise<CollError> {
  const { code, message, operation, cause } = error;
  if (code !== 'ERR_COLL_PEER_FAILED' || error.rank !== undefined) return error;
  const rank = await board.lostRank();
  if (rank === undefined) return error;
  const details = { rank, ranks: [rank], cause, ...(operation === undefined ? {} : { operation }) };
  return new UnavailableError(code, `${message}; rank ${rank} was lost: its process has ended`, details);
}
