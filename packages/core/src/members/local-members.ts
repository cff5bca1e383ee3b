import { type CallerRequest, operationOf } from '../collectives/caller-request.js';
import type { Communicator, RunOptions } from '../collectives/communicator.js';
import { failureError, reasonOf } from '../collectives/failures.js';
import { type Joining, Rendezvous } from '../replicas/rendezvous.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, RuntimeError } from '../support/errors.js';
import { tensor, zeros } from '../values/tensor.js';
import { type LocalGroup, Member } from './member.js';
import type { MemberCall } from './member-call.js';
import { groupOfRank, type SplitPart } from './split.js';

/** Options for opening the members of a group that live in this thread. */
export interface LocalMembersOptions {
  readonly localRanks: readonly number[];
  /** Creates the communicator. Called once, for the first collective. */
  readonly communicator: () => Communicator;
  /** Leaves the group. Default: closes the communicator. */
  readonly close?: (() => Promise<void>) | undefined;
}

interface OwnOptions extends Joining {
  readonly own: RunOptions;
}

/**
 * The members of a group that live in this thread. Once all of them have called a collective, it
 * runs on the communicator once, for all of them.
 */
export class LocalMembers implements LocalGroup {
  readonly localRanks: readonly number[];
  readonly #options: LocalMembersOptions;
  readonly #arrivals: Rendezvous;
  #communicator: Communicator | undefined;

  constructor(options: LocalMembersOptions) {
    this.localRanks = options.localRanks;
    this.#options = options;
    this.#arrivals = new Rendezvous(options.localRanks, { what: 'rank' });
    this.#arrivals.onRefused = (error, times) => this.communicator.group.order.refuse(error, times);
  }

  get communicator(): Communicator {
    this.#communicator ??= this.#options.communicator();
    return this.#communicator;
  }

  /** The local members, in the order of their ranks. */
  members(size: number, algorithm: Algorithm): readonly Member[] {
    const family = new Set<LocalGroup>();
    return this.localRanks.map((rank) => new Member({ rank, size, algorithm, local: this, family }));
  }

  placeOf(rank: number): number {
    return this.localRanks.indexOf(rank);
  }

  /** Runs a collective once all local members have called it. */
  run(place: number, call: MemberCall, options: RunOptions): Promise<void> {
    const { collective } = call;
    if (this.localRanks.length === 1) return this.communicator.run(collective, [call.input], [call.output], options);
    const name = operationOf({ collective, request: options.request });
    return this.#arrivals.join(place, { ...joining(name, options), call }, async (calls) => {
      const { communicator } = this;
      const [inputs, outputs] = [calls.map((one) => one.call.input), calls.map((one) => one.call.output)];
      await communicator.run(collective, inputs, outputs, jointOptions(calls));
      return calls.map(() => undefined);
    });
  }

  /** Counts a call that a local member has refused before the call began. */
  refuse(place: number, error: unknown): void {
    if (this.localRanks.length > 1) this.#arrivals.refuse(place, error);
    else this.communicator.group.order.refuse(error);
  }

  /** Makes one group per color; each local member joins the group of its color. */
  split(
    place: number,
    part: SplitPart,
    algorithm: Algorithm,
    options: RunOptions,
    family: Set<LocalGroup>,
  ): Promise<Member | undefined> {
    return this.#arrivals.join(place, { ...joining('split', options), part }, async (calls) => {
      const { communicator } = this;
      const { group } = communicator;
      const together = { ...jointOptions(calls), request: splitRequest };
      const parts = await this.#exchange(
        calls.map((one) => one.part),
        together,
      );
      const subGroups = await group.split(parts, algorithm, together);
      const local = new Map<Communicator, LocalMembers>();
      return subGroups.map((subGroup, index) => {
        if (!subGroup) return undefined;
        const { communicator: own, close } = subGroup;
        const { localRanks } = own;
        const known = local.get(own) ?? new LocalMembers({ localRanks, communicator: () => own, close });
        local.set(own, known);
        const rank = (groupOfRank(parts, this.localRanks[index] as number) as readonly number[]).indexOf(
          this.localRanks[index] as number,
        );
        return new Member({ rank, size: own.size, algorithm, local: known, family });
      });
    });
  }

  async close(): Promise<void> {
    this.#arrivals.close(closedGroup);
    if (this.#options.close) await this.#options.close();
    else await this.communicator.close();
    // Ends `send` and `receive` calls between local members.
    if (this.localRanks.length > 1) this.communicator.group.fail(closedGroup('close'));
  }

  /**
   * Ends the group because another group that shares members with it failed. The error's rank does
   * not apply here, because members have other ranks in that group.
   */
  fail(error: CollError): void {
    const { group } = this.communicator;
    const text = `another group of its members failed: ${error.message}`;
    const failure = { reason: reasonOf(error), rank: -1, ranks: [], text };
    if (!group.failure) group.fail(failureError(failure, { operation: error.operation ?? 'group', cause: error }));
    this.#arrivals.fail(() => error);
  }

  /** Gathers the color and key that each member passed to `split`, in rank order. */
  async #exchange(own: readonly SplitPart[], options: RunOptions): Promise<readonly SplitPart[]> {
    const inputs = own.map(({ color, key }) => tensor(Int32Array.of(color, key)));
    const outputs = own.map(() => zeros('int32', [2 * this.communicator.size]));
    await this.communicator.run({ kind: 'all-gather' }, inputs, outputs, options);
    const words = outputs[0]?.data as Int32Array;
    return Array.from({ length: this.communicator.size }, (_, rank) => ({
      color: words[2 * rank] as number,
      key: words[2 * rank + 1] as number,
    }));
  }
}

const splitRequest: CallerRequest = {
  collective: { kind: 'all-gather' },
  dtype: 'int32',
  length: 2,
  purpose: 'split',
};

function closedGroup(operation: string): RuntimeError {
  return new RuntimeError('ERR_COLL_CLOSED', `${operation}: this group was closed`, { operation });
}

function joining(name: string, own: RunOptions): OwnOptions {
  const { signal, timeoutSeconds = null } = own;
  return { name, own, options: { options: { timeoutSeconds }, signal } };
}

/** The options of a collective on behalf of all local members: the earliest deadline and the signals of their calls. */
function jointOptions(calls: readonly OwnOptions[]): RunOptions {
  const [{ own }] = calls as readonly [OwnOptions];
  if (calls.length === 1) return own;
  const limits = calls.map((call) => call.own.timeoutSeconds ?? 0).filter((seconds) => seconds > 0);
  const signals = [...new Set(calls.flatMap((call) => call.own.signal ?? []))];
  return {
    ...own,
    timeoutSeconds: limits.length > 0 ? Math.min(...limits) : null,
    ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
  };
}
