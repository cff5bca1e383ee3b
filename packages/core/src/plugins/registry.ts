import type { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { CollError, ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { type CrossDeviceOpsOptionsMap, type Plugin, pluginApiVersion, type Situation } from './plugin.js';
import { type Candidate, chooseFirst, chooseNamed, type PluginChoice } from './plugin-choice.js';
import { requireWorld, type World } from './world.js';

/** A name is completed and its options are checked where its package declares them; any other string is allowed. */
export type PluginName = keyof CrossDeviceOpsOptionsMap | (string & {});

/** Which ops to use: a plug-in, its name, either with options, or `'auto'`. */
export type PluginRequest =
  | PluginName
  | Plugin<never>
  | { readonly name: PluginName | Plugin<never>; readonly options?: unknown };

/** A plug-in that was found, with its options and how the choice was made. */
export interface Resolution {
  readonly plugin: Plugin<never>;
  readonly options: unknown;
  readonly candidates: readonly Candidate[];
}

/** @throws ValueError for anything but a registry */
export function requireRegistry(registry: unknown): void {
  const { has, get, list, create } = Object(registry) as Partial<Registry>;
  if ([has, get, list, create].every((method) => typeof method === 'function')) return;
  throw new ValueError('ERR_COLL_VALUE', `registry must be one of createRegistry(), got ${quote(registry)}`);
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

/** The plug-ins that can be found by name. */
export class Registry {
  readonly #plugins = new Map<string, Plugin<never>>();

  /**
   * Adds a plug-in; the same one again is nothing new.
   * @throws CollError for an object that is no plug-in, for another version of the contract, and for a second plug-in of that name
   */
  register<Options>(plugin: Plugin<Options>): void {
    requirePlugin(plugin);
    const other = this.#plugins.get(plugin.name);
    if (other && other.module !== plugin.module) {
      throw new CollError(
        'ERR_COLL_DUPLICATE_PLUGIN',
        `two plug-ins are called "${plugin.name}": ${other.module} is registered, ${plugin.module} clashes with it; keep one version installed (npm ls shows who brings them)`,
      );
    }
    if (!other) this.#plugins.set(plugin.name, plugin as unknown as Plugin<never>);
  }

  /** Whether a plug-in is registered under that name. */
  has(name: string): boolean {
    return this.#plugins.has(name);
  }

  /** @throws CollError that lists the known names and the line that installs the missing one */
  get(name: string): Plugin<never> {
    const found = this.#plugins.get(name);
    if (found) return found;
    const known =
      this.list()
        .map((plugin) => plugin.name)
        .join(', ') || 'none';
    throw new CollError(
      'ERR_COLL_UNKNOWN_PLUGIN',
      `no plug-in is called ${quote(name)}; registered: ${known}. ${installHint(name)}`,
    );
  }

  /** All plug-ins, the most wanted first. */
  list(): Plugin<never>[] {
    return [...this.#plugins.values()].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
  }

  /**
   * Finds the plug-in for a request. `'auto'` takes the one of the highest priority that accepts the situation; any other choice is
   * asked, too, and its refusal is an error: nothing else is taken in its place.
   */
  async resolve(request: PluginRequest, situation: Situation = { devices: [] }): Promise<Resolution> {
    requireSituation(situation);
    const { taken, candidates } = await this.#choose(request, situation);
    if (taken) return { plugin: taken, options: partsOf(request).options, candidates };
    throw partsOf(request).name === 'auto' ? noPlugin(situation, candidates) : refusedPlugin(candidates);
  }

  /** Cross-device ops for a request, with its options; for a world where one is given. */
  create<Name extends keyof CrossDeviceOpsOptionsMap>(
    name: Name,
    options?: CrossDeviceOpsOptionsMap[Name],
    world?: World,
  ): Promise<CrossDeviceOps>;
  create<Options>(plugin: Plugin<Options>, options?: Options, world?: World): Promise<CrossDeviceOps>;
  // Not for names with declared options: whoever gets those wrong must not end here.
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

  /** Who would be taken for a request, and why, or why not, for each that could be. */
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

/** A registry of its own, for tests and for programs that want none of the shared one. */
export function createRegistry(): Registry {
  return new Registry();
}

const key = Symbol.for('@coll/core.registry.v1');

/** The registry of this realm. Copies of the library that were installed separately share it. */
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
    `name a plug-in, pass its object, { name, options } or 'auto', not ${quote(request)}`,
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
      `a plug-in is { name, apiVersion, module, priority, create }, as definePlugin makes it; got ${quote(plugin)}`,
    );
  }
  if (apiVersion !== pluginApiVersion) {
    throw new CollError(
      'ERR_COLL_API_VERSION',
      `plug-in "${name}" (${module}) speaks version ${quote(apiVersion)} of the plug-in contract, this @coll/core version ${pluginApiVersion}: install releases that belong together`,
    );
  }
}

function requireSituation(situation: Situation): void {
  requireList(optionsOf(situation, "{ devices: ['cpu:0'] }", situationFields).devices, 'devices');
}

function refusedPlugin(candidates: readonly Candidate[]): CollError {
  const [told] = candidates.map(({ name, refused }) => `plug-in "${name}" cannot be used here: ${refused}`);
  return new CollError('ERR_COLL_REFUSED', told as string);
}

function noPlugin({ devices }: Situation, candidates: readonly Candidate[]): CollError {
  const told = candidates.map(({ name, refused }) => `${name}: ${refused}`).join('; ');
  const why = told === '' ? "none is registered; import one, for example '@coll/ring/register'" : told;
  return new CollError('ERR_COLL_NO_PLUGIN', `no plug-in serves ${devices.join(', ') || 'these devices'}: ${why}`);
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
