import { requireWorld, type World } from '../engines/world.js';
import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { CollError, ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { type CrossDeviceOpsOptionsMap, type Plugin, pluginApiVersion, type Situation } from './plugin.js';
import { type Candidate, chooseFirst, chooseNamed, type PluginChoice } from './plugin-choice.js';

/**
 * The name of a plug-in. Names in `CrossDeviceOpsOptionsMap` are completed by editors and have
 * their options checked; any other string is allowed.
 */
export type PluginName = keyof CrossDeviceOpsOptionsMap | (string & {});

/**
 * The cross-device ops to use: `'auto'`, a plug-in, or the name of a plug-in. A plug-in or name can
 * be given with options.
 */
export type PluginRequest =
  | PluginName
  | Plugin<never>
  | { readonly name: PluginName | Plugin<never>; readonly options?: unknown };

/** The chosen plug-in with its options, and how it was chosen. */
export interface Resolution {
  readonly plugin: Plugin<never>;
  readonly options: unknown;
  readonly candidates: readonly Candidate[];
}

/** @throws ValueError unless `registry` is a registry */
export function requireRegistry(registry: unknown): void {
  const { has, get, list, create } = Object(registry) as Partial<Registry>;
  if ([has, get, list, create].every((method) => typeof method === 'function')) return;
  throw new ValueError('ERR_COLL_VALUE', `registry must be the result of createRegistry(), got ${quote(registry)}`);
}

const requestFields = knownOptions<{ readonly name: unknown; readonly options: unknown }>('plug-in by name', {
  name: true,
  options: true,
});

const situationFields = knownOptions<Situation>('situation', {
  devices: true,
  dtypes: true,
  ops: true,
  isolated: true,
});

/**
 * Plug-ins by name.
 *
 * @example
 * ```ts
 * import { createRegistry } from '@coll/core';
 * import { direct } from '@coll/direct';
 * import { ring } from '@coll/ring';
 *
 * const registry = createRegistry();
 * registry.register(direct);
 * registry.register(ring);
 * const { chosen } = await registry.explain('auto', { devices: ['cpu:0', 'cpu:1'] });
 * console.log(chosen); // direct
 * await using ops = await registry.create('ring', { numPacks: 2 });
 * console.log(ops.name); // ring
 * ```
 */
export class Registry {
  readonly #plugins = new Map<string, Plugin<never>>();

  /**
   * Adds a plug-in. Has no effect if a plug-in of the same name and module was already added.
   * @throws CollError for an object that is not a plug-in, for another version of the plug-in API,
   * and if a plug-in of that name was added from another module
   */
  register<Options>(plugin: Plugin<Options>): void {
    requirePlugin(plugin);
    const other = this.#plugins.get(plugin.name);
    if (other && other.module !== plugin.module) {
      throw new CollError(
        'ERR_COLL_DUPLICATE_PLUGIN',
        `two plug-ins are called "${plugin.name}": ${other.module} is already registered, ${plugin.module} has the same name; keep one version installed (npm ls shows which packages depend on each)`,
      );
    }
    if (!other) this.#plugins.set(plugin.name, plugin as unknown as Plugin<never>);
  }

  /** Whether a plug-in of this name is registered. */
  has(name: string): boolean {
    return this.#plugins.has(name);
  }

  /**
   * The plug-in of this name.
   * @throws CollError if there is none; the message lists the known names and says how to install
   * and register the plug-in
   */
  get(name: string): Plugin<never> {
    const found = this.#plugins.get(name);
    if (found) return found;
    const known =
      this.list()
        .map((plugin) => plugin.name)
        .join(', ') || 'none';
    throw new CollError(
      'ERR_COLL_UNKNOWN_PLUGIN',
      `no plug-in called ${quote(name)} is registered; registered: ${known}. ${installHint(name)}`,
    );
  }

  /** All plug-ins, highest priority first; plug-ins of equal priority are in the order of their names. */
  list(): Plugin<never>[] {
    return [...this.#plugins.values()].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
  }

  /**
   * Finds the plug-in for a request. `'auto'` chooses the plug-in with the highest priority that
   * accepts the situation. A requested plug-in is probed too; if it refuses, `resolve` throws and
   * does not fall back to another one.
   * @throws CollError if no plug-in of this name is registered, if the requested plug-in refuses,
   * or if all plug-ins refuse; ValueError for a request or situation of the wrong form
   */
  async resolve(request: PluginRequest, situation: Situation = { devices: [] }): Promise<Resolution> {
    requireSituation(situation);
    const { taken, candidates } = await this.#choose(request, situation);
    if (taken) return { plugin: taken, options: partsOf(request).options, candidates };
    throw partsOf(request).name === 'auto' ? noPlugin(situation, candidates) : refusedPlugin(candidates);
  }

  /**
   * Creates cross-device ops for a request and, if given, a world. `options` override the options
   * of the request.
   * @throws the errors of `resolve` and of the plug-in; ValueError for an invalid world
   */
  create<Name extends keyof CrossDeviceOpsOptionsMap>(
    name: Name,
    options?: CrossDeviceOpsOptionsMap[Name],
    world?: World,
  ): Promise<CrossDeviceOps>;
  create<Options>(plugin: Plugin<Options>, options?: Options, world?: World): Promise<CrossDeviceOps>;
  // Excludes names with declared options, so that wrong options do not select this overload.
  create<Name extends string>(
    name: Name extends keyof CrossDeviceOpsOptionsMap ? never : Name,
    options?: unknown,
    world?: World,
  ): Promise<CrossDeviceOps>;
  create(request: PluginRequest, options?: undefined, world?: World): Promise<CrossDeviceOps>;
  async create(request: PluginRequest, options?: unknown, world?: World): Promise<CrossDeviceOps> {
    requireWorld(world);
    const situation = world ? { devices: world.devices } : { devices: [] };
    const found = await this.resolve(request, situation);
    return found.plugin.create((options ?? found.options) as never, world);
  }

  /** The plug-in that a request would choose, and the reason for each candidate. */
  async explain(
    request: PluginRequest,
    situation: Situation = { devices: [] },
  ): Promise<{ readonly chosen?: string; readonly candidates: readonly Candidate[] }> {
    requireSituation(situation);
    const { taken, candidates } = await this.#choose(request, situation);
    return { ...(taken ? { chosen: taken.name } : {}), candidates };
  }

  async #choose(request: PluginRequest, situation: Situation): Promise<PluginChoice> {
    const { name } = partsOf(request);
    if (name === 'auto') return chooseFirst(this.list(), situation);
    const plugin = typeof name === 'string' ? this.get(name) : name;
    requirePlugin(plugin);
    return chooseNamed(plugin, situation);
  }
}

/**
 * A separate registry, for tests and for programs that do not use the shared one.
 *
 * @example
 * ```ts
 * import { createRegistry } from '@coll/core';
 * import { ring } from '@coll/ring';
 *
 * const registry = createRegistry();
 * registry.register(ring);
 * console.log(registry.list().map(({ name }) => name)); // [ 'ring' ]
 * ```
 */
export function createRegistry(): Registry {
  return new Registry();
}

const key = Symbol.for('@coll/core.registry.v1');

/**
 * The registry of this realm, shared by separately installed copies of the library.
 *
 * @example
 * ```ts
 * import '@coll/ring'; // does not register; '@coll/ring/register' does
 * import { registry } from '@coll/core';
 *
 * console.log(registry.has('ring')); // false
 * ```
 */
export const registry: Registry = sharedRegistry();

function sharedRegistry(): Registry {
  const realm = globalThis as { [key]?: Registry };
  realm[key] ??= new Registry();
  return realm[key];
}

function partsOf(request: PluginRequest): { name: PluginName | Plugin<never>; options: unknown } {
  if (typeof request === 'string') return { name: request, options: undefined };
  if (typeof request === 'object' && request !== null) {
    if ('create' in request) return { name: request, options: undefined };
    if ('name' in request) {
      requireKnownOptions(request, requestFields);
      return { name: request.name, options: request.options };
    }
  }
  throw new ValueError(
    'ERR_COLL_VALUE',
    `a plug-in must be a name, a plug-in object, { name, options } or 'auto', got ${quote(request)}`,
  );
}

function requirePlugin(plugin: unknown): void {
  const { name, module, priority, apiVersion, create } = Object(plugin) as Partial<Plugin>;
  if (
    typeof name !== 'string' ||
    name === '' ||
    name === 'auto' ||
    typeof create !== 'function' ||
    typeof module !== 'string' ||
    typeof priority !== 'number'
  ) {
    throw new CollError(
      'ERR_COLL_PLUGIN',
      `a plug-in must be { name, apiVersion, module, priority, create }, the result of definePlugin, got ${quote(plugin)}`,
    );
  }
  if (apiVersion !== pluginApiVersion) {
    throw new CollError(
      'ERR_COLL_API_VERSION',
      `plug-in "${name}" (${module}) uses version ${quote(apiVersion)} of the plug-in API, but this @coll/core uses version ${pluginApiVersion}: install matching releases of both`,
    );
  }
}

function requireSituation(situation: Situation): void {
  requireList(optionsOf(situation, "{ devices: ['cpu:0'] }", situationFields).devices, 'devices');
}

function refusedPlugin(candidates: readonly Candidate[]): CollError {
  const [message] = candidates.map(({ name, refused }) => `plug-in "${name}" cannot be used here: ${refused}`);
  return new CollError('ERR_COLL_REFUSED', message as string);
}

function noPlugin({ devices }: Situation, candidates: readonly Candidate[]): CollError {
  const reasons = candidates.map(({ name, refused }) => `${name}: ${refused}`).join('; ');
  const why = reasons === '' ? "none is registered; import one, for example '@coll/ring/register'" : reasons;
  return new CollError('ERR_COLL_NO_PLUGIN', `no plug-in supports ${devices.join(', ') || 'these devices'}: ${why}`);
}

const ours: readonly string[] = [
  'ring',
  'direct',
  'reduction-to-one',
  'hierarchical-copy',
  'multi-worker',
  'nccl',
  'mpi',
];

function installHint(name: string): string {
  if (!ours.includes(name)) return 'Import the module that registers it, or pass the plug-in object itself';
  return `Install it: npm install @coll/${name}, then import '@coll/${name}/register'`;
}
