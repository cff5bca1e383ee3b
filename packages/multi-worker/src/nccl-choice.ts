import { CollError, type CrossDeviceOps, type Plugin, registry, type Turn } from '@coll/core';
import { deviceType } from '@coll/core/plugin';

/** The workers that decide together about NCCL, and how to reach and inform them. */
export interface NcclChoiceOptions {
  /** Number of workers that decide together whether to use NCCL. */
  readonly workers: number;
  /** Sends a line of text to all workers. Returns the lines of all workers, in rank order. */
  gatherLines(line: string, turn: Turn | undefined): Promise<readonly string[]>;
  /** Opens the plug-in's ops for all workers. */
  open(plugin: Plugin<never>): CrossDeviceOps | Promise<CrossDeviceOps>;
  /** Records how the ops deviate from the request, with the reason, and logs it once. */
  remark(level: 'info' | 'warn', why: string): void;
}

/** The reason why NCCL is not used, and the worker that cannot use it. */
interface Refusal {
  readonly why: string;
  /** Whether NCCL cannot be tried at all, because there is no GPU or no plug-in. */
  readonly isNothing: boolean;
  readonly worker?: number;
}

const missing = 'no plug-in is registered as "nccl": install @coll/nccl and import @coll/nccl/register';

/**
 * Decides whether the plug-in registered as `nccl` can be used for the devices of all workers, and
 * opens its ops.
 */
export class NcclChoice {
  readonly #options: NcclChoiceOptions;
  #agreed: Promise<Refusal | undefined> | undefined;
  #ops: Promise<CrossDeviceOps> | undefined;
  #served: CrossDeviceOps | undefined;

  constructor(options: NcclChoiceOptions) {
    this.#options = options;
  }

  /**
   * Returns NCCL's ops; undefined if NCCL is not used. In the latter case, records the reason,
   * unless the request was `AUTO` and there is no GPU or no plug-in. All workers must make the same
   * request, and get the same result.
   * @throws CollError if NCCL was requested by name for GPUs, but the plug-in of a worker refuses
   */
  async opsFor(asked: 'AUTO' | 'NCCL', devices: readonly string[], turn?: Turn): Promise<CrossDeviceOps | undefined> {
    if (this.hasNoGpu(asked, devices)) return undefined;
    const refusal = await this.#refusal(devices, turn);
    if (!refusal) return this.#opened();
    const { why, isNothing, worker } = refusal;
    if (asked === 'AUTO') {
      if (!isNothing) this.#options.remark('info', `nccl is not used, because ${why}; values are combined on the host`);
      return undefined;
    }
    const message = `NCCL was requested, but ${why}`;
    if (!isNothing) {
      const advice = 'fix the cause, or request AUTO or RING, which do not need NCCL';
      const details = { operation: 'all-reduce', ...(worker === undefined ? {} : { rank: worker }) };
      throw new CollError('ERR_COLL_REFUSED', `${message}: ${advice}`, details);
    }
    this.#options.remark('warn', `${message}; a ring is used instead`);
    return undefined;
  }

  /**
   * Whether NCCL cannot be used because one of the devices is not a GPU; needs no messages to other
   * workers. If the call requested NCCL, records a warning.
   */
  hasNoGpu(asked: 'AUTO' | 'NCCL', devices: readonly string[]): boolean {
    const noGpu = noGpuAmong(devices);
    if (noGpu && asked === 'NCCL')
      this.#options.remark('warn', `NCCL was requested, but ${noGpu.why}; a ring is used instead`);
    return noGpu !== undefined;
  }

  /** Records the reason why a blocking call is executed without NCCL. */
  refuseBlocking(asked: 'AUTO' | 'NCCL', devices: readonly string[]): void {
    const noGpu = noGpuAmong(devices)?.why;
    if (asked === 'NCCL') {
      this.#options.remark(
        'warn',
        `NCCL was requested, but ${noGpu ?? 'it has no synchronous calls'}; a ring is used instead`,
      );
    } else if (noGpu === undefined && registry.has('nccl')) {
      this.#options.remark(
        'info',
        'nccl is not used for synchronous calls, which it does not support; their values are combined on the host',
      );
    }
  }

  /** Notes on how NCCL's ops deviate from the request. */
  get notes(): readonly string[] {
    return this.#served?.explain().notes ?? [];
  }

  /** Closes NCCL's ops. */
  async close(): Promise<void> {
    const ops = await this.#ops?.catch(() => undefined);
    await ops?.close();
  }

  async #opened(): Promise<CrossDeviceOps> {
    this.#ops ??= Promise.resolve(this.#options.open(registry.get('nccl')));
    this.#served = await this.#ops;
    return this.#served;
  }

  async #refusal(devices: readonly string[], turn: Turn | undefined): Promise<Refusal | undefined> {
    this.#agreed ??= this.#agree(devices, turn);
    const refusal = await this.#agreed;
    // Without other workers, checks again at the next call, because a missing plug-in may be
    // registered later. Several workers agree only once.
    if (refusal && this.#options.workers === 1) this.#agreed = undefined;
    return refusal;
  }

  async #agree(devices: readonly string[], turn: Turn | undefined): Promise<Refusal | undefined> {
    const { workers, gatherLines } = this.#options;
    const lines = await gatherLines(JSON.stringify((await refusalHere(devices)) ?? null), turn);
    const refusals = lines.map((line) => JSON.parse(line) as Refusal | null);
    const worker = refusals.findIndex((refusal) => refusal !== null);
    const first = refusals[worker];
    if (!first || workers === 1) return first ?? undefined;
    return { ...first, why: `on worker ${worker} ${first.why}`, worker };
  }
}

async function refusalHere(devices: readonly string[]): Promise<Refusal | undefined> {
  if (!registry.has('nccl')) return { why: missing, isNothing: true };
  const { candidates } = await registry.explain('nccl', { devices });
  const why = candidates[0]?.refused;
  return why === undefined ? undefined : { why, isNothing: false };
}

function noGpuAmong(devices: readonly string[]): Refusal | undefined {
  const odd = devices.find((device) => device === '' || deviceType(device) !== 'GPU');
  return odd === undefined ? undefined : { why: `${odd || 'a value without a device'} is not a GPU`, isNothing: true };
}
