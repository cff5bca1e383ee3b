import { jsEngine } from '../js/js-engine.js';
import type {
  Engine,
  EngineCandidate,
  EngineName,
  EngineRequest,
  EngineResolution,
  ProbeResult,
} from '../runtime/engine.js';
import { environment } from '../support/environment.js';
import { CollError, ValueError } from '../support/errors.js';
import { log, logFirst } from '../support/logger.js';
import { quote } from '../support/quote.js';
import { requireList } from '../support/requirements.js';
import { threads } from '../support/worker-threads.js';
import { wasmEngine } from '../wasm/wasm-engine.js';

/** The order in which `'auto'` probes the engines. */
const names: readonly EngineName[] = ['native', 'wasm', 'js'];
const builtIn: readonly Engine[] = [wasmEngine, jsEngine];

// Change this key whenever `Engine` changes incompatibly, so that only compatible copies of the
// library share engines.
const key = Symbol.for('@coll/core.engines.v1');

/** The engines registered in this realm. Separately installed copies of the library share them. */
function registered(): Map<EngineName, Engine> {
  const realm = globalThis as { [key]?: Map<EngineName, Engine> };
  realm[key] ??= new Map();
  return realm[key];
}

/**
 * Makes an engine available by name and for `'auto'`. Registering the same object again has no
 * effect.
 * @throws CollError for an object that is not an engine, and for a second engine of that name
 *
 * @example
 * ```ts
 * import { resolveEngine } from '@coll/core';
 * import { registerEngine } from '@coll/core/plugin';
 * import { native } from '@coll/native';
 *
 * registerEngine(native);
 * console.log(resolveEngine().candidates[0]?.name); // native
 * ```
 */
export function registerEngine(engine: Engine): void {
  requireEngine(engine);
  const other = registered().get(engine.name) ?? builtIn.find(({ name }) => name === engine.name);
  if (other === engine) return;
  if (other) {
    throw new CollError(
      'ERR_COLL_DUPLICATE_PLUGIN',
      `two engines are called "${engine.name}"; keep one version installed (npm ls shows which packages depend on each)`,
    );
  }
  registered().set(engine.name, engine);
}

/**
 * Finds an engine, first in `extra`, then among registered and built-in engines. `'auto'` takes the
 * engine that the environment variable `COLL_ENGINE` names, or else the fastest that works here,
 * with one warning per process if the native engine should work here, but does not. A name takes
 * that engine or throws.
 * @throws ValueError for an unknown name, also in `COLL_ENGINE`; CollError, with the reason and a remedy, if no requested
 * engine can be used
 *
 * @example
 * ```ts
 * import { resolveEngine } from '@coll/core';
 *
 * const { engine, candidates } = resolveEngine('js');
 * console.log(engine.name, candidates); // js [ { name: 'js' } ]
 * ```
 */
export function resolveEngine(request: EngineRequest = 'auto', extra: readonly Engine[] = []): EngineResolution {
  requireEngineRequest(request);
  requireList(extra, 'extra engines');
  for (const engine of extra) requireEngine(engine);
  const chosen = request === 'auto' ? engineOfEnvironment() : request;
  const wanted = chosen === 'auto' ? names : [chosen];
  const candidates: EngineCandidate[] = [];
  let taken: Engine | undefined;
  let advice: string | undefined;
  for (const name of wanted) {
    const engine = [...extra, ...registered().values(), ...builtIn].find((known) => known.name === name);
    const refusal = taken ? undefined : refusalOf(engine, name);
    candidates.push({ name, ...(refusal ? { refused: refusal.reason } : {}) });
    advice ??= refusal?.advice;
    if (!taken && !refusal) taken = engine;
  }
  if (!taken) throw noEngine(chosen, candidates);
  const [fastest] = candidates;
  if (fastest?.refused !== undefined) {
    const message = `using the ${taken.name} engine: ${fastest.name} was refused (${fastest.refused})`;
    if (advice === undefined) logFirst(1, message, 'info', message);
    else
      warnOfSlowerEngine(
        `${message}; ${advice}, or choose this engine: engine: '${taken.name}' or COLL_ENGINE=${taken.name}`,
      );
  }
  return { engine: taken, candidates };
}

const warnedKey = '@coll/core has warned of a slower engine';

/**
 * A word that is 1 once this process has warned. Threads share the word of the thread that starts
 * them, if that thread has loaded this module before.
 */
const hasWarned = sharedWord();

function sharedWord(): Int32Array {
  const inherited = threads?.getEnvironmentData(warnedKey);
  if (inherited instanceof Int32Array) return inherited;
  const own = new Int32Array(threads ? new SharedArrayBuffer(4) : new ArrayBuffer(4));
  threads?.setEnvironmentData(warnedKey, own);
  return own;
}

function warnOfSlowerEngine(message: string): void {
  if (Atomics.exchange(hasWarned, 0, 1) === 0) log('warn', message);
}

/** @throws ValueError unless `COLL_ENGINE` is an engine name, `'auto'` or unset */
function engineOfEnvironment(): EngineRequest {
  const wanted = environment('COLL_ENGINE') || 'auto';
  requireEngineRequest(wanted, 'COLL_ENGINE');
  return wanted;
}

/** @throws ValueError unless `request` is an engine name or `'auto'` */
export function requireEngineRequest(request: unknown, option = 'engine'): asserts request is EngineRequest {
  if (request === 'auto' || names.includes(request as EngineName)) return;
  throw new ValueError('ERR_COLL_VALUE', `${option} must be one of 'auto', ${names.join(', ')}, got ${quote(request)}`);
}

type Refusal = Pick<Exclude<ProbeResult, { available: true }>, 'reason' | 'advice'>;

function refusalOf(engine: Engine | undefined, name: EngineName): Refusal | undefined {
  if (!engine) {
    const advice = `import '@coll/${name}/register', after npm install @coll/${name} if it is not installed`;
    return { reason: `not registered: ${advice}` };
  }
  try {
    const result = engine.probe();
    return result.available ? undefined : result;
  } catch (error) {
    // An engine whose probe throws is unusable; the others remain.
    const reason = `its probe failed: ${error instanceof Error ? error.message : quote(error)}`;
    return { reason, advice: 'mend what this error names' };
  }
}

function noEngine(request: EngineRequest, candidates: readonly EngineCandidate[]): CollError {
  const reasons = candidates.map(({ name, refused }) => `${name}: ${refused}`).join('; ');
  const advice = request === 'auto' ? '' : "; 'auto' takes the fastest that works here";
  return new CollError('ERR_COLL_NO_ENGINE', `no engine is available for ${quote(request)}: ${reasons}${advice}`);
}

function requireEngine(engine: unknown): asserts engine is Engine {
  const { name, probe, communicator, createGroup, join } = Object(engine) as Partial<Engine>;
  const isWhole = [probe, communicator, createGroup, join].every((method) => typeof method === 'function');
  if (isWhole && names.includes(name as EngineName)) return;
  throw new CollError(
    'ERR_COLL_PLUGIN',
    `an engine must be { name, probe, communicator, createGroup, join } with the name ${names.join(' or ')}, got ${quote(engine)}`,
  );
}
