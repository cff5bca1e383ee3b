import {
  type Candidate,
  CrossDeviceOps,
  type Engine,
  type EngineRequest,
  type EngineResolution,
  type Plugin,
  type PluginRequest,
  type Registry,
  type Resolution,
  RuntimeError,
  resolveEngine,
  type Situation,
  ValueError,
} from '@coll/core';
import { quote } from '@coll/core/internal';
import { deviceType, portableWorld } from '@coll/core/plugin';
import { reductionToOne } from '@coll/reduction-to-one';
import { openRecord, ourEngines } from '../host.js';
import { CountedGroups } from './strategy-log.js';
import { warnOfInvisible } from './visible-devices.js';
import { withFallback } from './with-fallback.js';

/** The ops that the user requested; undefined if none were requested. */
type OpsRequest = CrossDeviceOps | PluginRequest | undefined;

export interface OpsChoiceOptions {
  readonly request: OpsRequest;
  readonly registry: Registry;
  readonly devices: readonly string[];
  readonly engine: EngineRequest;
  /** After how many collectives replicas compare results. Default: 0, which means never. */
  readonly checkResults?: number | undefined;
}

/** The cross-device ops of a strategy, chosen on first use and kept from then on. */
export class OpsChoice {
  /** The ops for replicas in this thread. */
  readonly ops: () => Promise<CrossDeviceOps>;
  /**
   * The engine of the ops, in this thread and in replica threads; undefined if an ops object was
   * given, which has its own engine.
   */
  readonly engine: EngineResolution | undefined;
  /** The ops object that was given, which its owner closes; undefined for a plug-in. */
  readonly given: CrossDeviceOps | undefined;
  /** The plug-in for replicas in this thread. @throws CollError if none serves the devices */
  readonly here: () => Promise<Resolution>;
  /** Counts the collectives of the ops that this object has opened. */
  readonly counts: CountedGroups;
  readonly #devices: readonly string[];
  readonly #isolated: () => Promise<Resolution>;
  #opened: Promise<CrossDeviceOps> | undefined;

  /**
   * Validates the request at once, before the ops are first used.
   * @throws ValueError for an invalid request of ops or engine; CollError for a name that is not
   * registered, and for an engine that does not work here
   */
  constructor({ request, registry, devices, engine, checkResults }: OpsChoiceOptions) {
    requestedPlugin(request, registry);
    this.#devices = devices;
    this.counts = new CountedGroups(checkResults);
    this.engine = request instanceof CrossDeviceOps ? ownEngine(engine) : resolveEngine(engine, ourEngines);
    const find = (isolated: boolean) => async () => {
      const [known, situation] = [withFallback(registry), { devices, isolated }];
      const found = await (request === undefined
        ? resolveDefault(known, situation)
        : known.resolve(request as PluginRequest, situation));
      // A plug-in that lists its device types has checked the devices.
      if (!found.plugin.capabilities?.devices) await warnOfInvisible(devices, known);
      return found;
    };
    this.given = request instanceof CrossDeviceOps ? request : undefined;
    this.here = once(find(false));
    this.#isolated = once(find(true));
    this.ops = once(() => {
      this.#opened = this.#open();
      return this.#opened;
    });
  }

  /**
   * The plug-in and engine for replicas in separate threads; each of these threads creates its own
   * ops.
   * @throws RuntimeError if an ops object was given
   */
  async isolated(): Promise<Resolution & { readonly engine: Engine }> {
    if (this.engine) return { ...(await this.#isolated()), engine: this.engine.engine };
    const message = 'an ops object cannot be sent to other threads';
    throw new RuntimeError(
      'ERR_COLL_NOT_CLONEABLE',
      `run with a module: ${message}; pass its plug-in, { name, options } or a registered name instead`,
      { operation: 'run' },
    );
  }

  /** The plug-ins that were considered, highest priority first; empty if an ops object was given. */
  async candidates(): Promise<readonly Candidate[]> {
    return this.given ? [] : (await this.here()).candidates;
  }

  /** Closes the ops that this object opened, but not ops that were passed in. */
  async close(): Promise<void> {
    // Ops that could not be opened need no closing, and the caller already has the error.
    const ops = await this.#opened?.catch(() => undefined);
    if (!this.given) await ops?.close();
  }

  async #open(): Promise<CrossDeviceOps> {
    if (!this.engine) return this.given as CrossDeviceOps;
    openRecord();
    const { plugin, options } = await this.here();
    const world = this.counts.counted({ ...portableWorld(this.#devices, this.engine.engine), resolution: this.engine });
    return plugin.create(options as never, world);
  }
}

/**
 * The plug-in used by default: the one with the highest priority, or reduction to one device if the
 * devices have several types, which few libraries support.
 * @throws CollError if no plug-in serves these devices
 */
async function resolveDefault(registry: Registry, situation: Situation): Promise<Resolution> {
  const types = [...new Set(situation.devices.map(deviceType))];
  if (types.length < 2) return registry.resolve('auto', situation);
  const message = `devices of several types (${types.join(', ')}) are reduced on one device by default`;
  const candidates = registry.list().map(({ name, priority }): Candidate => {
    const verb = name === reductionToOne.name ? 'taken' : 'not asked';
    return { name, priority, reason: `${verb}, because ${message}` };
  });
  return { ...(await registry.resolve(reductionToOne.name, situation)), candidates };
}

/** @throws ValueError if an engine is requested for ops that already have one */
function ownEngine(request: EngineRequest): undefined {
  if (request === 'auto') return;
  const advice = `new RingAllReduce({ engine: '${request}' })`;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `engine: crossDeviceOps is an ops object, which has its own engine; set the engine there: ${advice}`,
  );
}

/**
 * The requested plug-in; undefined for an ops object, and if no plug-in was requested.
 * @throws ValueError for an invalid request; CollError for a name that is not registered
 */
function requestedPlugin(request: OpsRequest, registry: Registry): Plugin<never> | undefined {
  if (request === undefined || request instanceof CrossDeviceOps) return undefined;
  const isObject = typeof request === 'object' && request !== null;
  const name = isObject && !('create' in request) && 'name' in request ? request.name : request;
  if (name === 'auto') return undefined;
  if (typeof name === 'object' && name !== null && 'create' in name) return name;
  if (typeof name === 'string') return withFallback(registry).get(name);
  throw new ValueError(
    'ERR_COLL_VALUE',
    `crossDeviceOps must be an ops object, a plug-in, { name, options }, a name or 'auto', got ${quote(request)}`,
  );
}

/**
 * Whether the requested ops distinguish the devices of several tasks.
 * @throws ValueError for an invalid request; CollError for a name that is not registered
 */
export function servesSeveralTasks(request: OpsRequest, registry: Registry): boolean {
  if (request instanceof CrossDeviceOps) return request.severalTasks;
  return requestedPlugin(request, registry)?.capabilities?.severalTasks ?? false;
}

/** Caches the result of `make`; calls `make` again only after a failure. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
