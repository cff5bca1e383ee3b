import { getEnvironmentData } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { jsEngine } from '../js/js-engine.js';
import type { Engine, EngineName } from '../runtime/engine.js';
import { setLogSink } from '../support/logger.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import { registerEngine, resolveEngine } from './engines.js';

const key = Symbol.for('@coll/core.engines.v1');
const realm = globalThis as { [key]?: unknown };

// Hides engines that were registered in this realm before these tests.
beforeEach(() => {
  realm[key] = undefined;
});
afterEach(() => setLogSink());

function engineOf(name: EngineName, reason?: string, advice?: string): Engine {
  return { ...jsEngine, name, probe: () => (reason ? { available: false, reason, advice } : { available: true }) };
}

describe('resolveEngine', () => {
  it("'auto' chooses the first available of native, wasm and js, and records why the others are not", () => {
    const native = engineOf('native', 'its binary is for another system');
    const wasm = engineOf('wasm', 'there is no SIMD');
    const { engine, candidates } = resolveEngine('auto', [wasm, native]);
    expect(engine).toBe(jsEngine);
    expect(candidates).toEqual([
      { name: 'native', refused: 'its binary is for another system' },
      { name: 'wasm', refused: 'there is no SIMD' },
      { name: 'js' },
    ]);
  });

  it('does not probe further engines after the chosen engine', () => {
    const native = engineOf('native');
    const probe = vi.fn(() => ({ available: true }) as const);
    const { engine, candidates } = resolveEngine(undefined, [native, { ...engineOf('wasm'), probe }]);
    expect(engine).toBe(native);
    expect(candidates).toEqual([{ name: 'native' }, { name: 'wasm' }, { name: 'js' }]);
    expect(probe).not.toHaveBeenCalled();
  });

  it('has wasm and js built in', () => {
    expect(resolveEngine('wasm').engine).toBe(wasmEngine);
    expect(resolveEngine('auto').engine).toBe(wasmEngine);
  });

  it('chooses exactly the requested engine', () => {
    const native = engineOf('native');
    expect(resolveEngine('js', [native])).toEqual({ engine: jsEngine, candidates: [{ name: 'js' }] });
    expect(resolveEngine('native', [native]).engine).toBe(native);
  });

  it('reports why the requested engine is not available', () => {
    const refused = engineOf('native', 'its binary is for another system');
    expect(thrown(() => resolveEngine('native', [refused]))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_NO_ENGINE',
      message: `no engine is available for "native": native: its binary is for another system; 'auto' takes the fastest that works here`,
    });
  });

  it("throws an error that says how to install an engine that is not registered; 'auto' skips this engine", () => {
    const message =
      "not registered: import '@coll/native/register', after npm install @coll/native if it is not installed";
    expect(thrown(() => resolveEngine('native'))).toMatchObject({
      code: 'ERR_COLL_NO_ENGINE',
      message: expect.stringContaining(message),
    });
    expect(resolveEngine('auto').candidates[0]).toEqual({ name: 'native', refused: message });
  });

  it('treats an engine whose probe throws as not available', () => {
    const broken: Engine = {
      ...engineOf('native'),
      probe() {
        throw new Error('symbol not found');
      },
    };
    expect(resolveEngine('auto', [broken]).candidates[0]?.refused).toBe('its probe failed: symbol not found');
  });

  it('logs once why the fastest engine was not chosen, and nothing if it was', () => {
    const sink = vi.fn();
    setLogSink((level, message) => sink(level, message));
    resolveEngine('auto', [engineOf('native')]);
    resolveEngine('js');
    expect(sink).not.toHaveBeenCalled();
    const without = [engineOf('native', 'too old'), engineOf('wasm', 'too new')];
    for (let time = 0; time < 3; time++) resolveEngine('auto', without);
    expect(sink.mock.calls).toEqual([['info', 'using the js engine: native was refused (too old)']]);
  });

  describe('if the native engine should work here, but does not', () => {
    const broken = () => [engineOf('native', 'it is broken', 'install it')];
    const sink = vi.fn();

    beforeEach(() => {
      Atomics.store(getEnvironmentData('@coll/core has warned of a slower engine') as Int32Array, 0, 0);
      sink.mockClear();
      setLogSink((level, message) => sink(level, message));
    });
    afterEach(() => vi.unstubAllEnvs());

    it('warns, too, if its probe throws an error', () => {
      const probe = () => {
        throw new Error('no permission');
      };
      expect(resolveEngine('auto', [{ ...engineOf('native'), probe }]).engine.name).toBe('wasm');
      const refused = 'native was refused (its probe failed: no permission); mend what this error names';
      expect(sink.mock.calls).toEqual([['warn', expect.stringContaining(refused)]]);
    });

    it('warns once per process, with the reason and both ways out', () => {
      for (let time = 0; time < 3; time++) expect(resolveEngine('auto', broken()).engine.name).toBe('wasm');
      const message = 'using the wasm engine: native was refused (it is broken); install it';
      expect(sink.mock.calls).toEqual([
        ['warn', `${message}, or choose this engine: engine: 'wasm' or COLL_ENGINE=wasm`],
      ]);
    });

    it('does not warn if the program or COLL_ENGINE chooses another engine', () => {
      expect(resolveEngine('wasm', broken()).engine.name).toBe('wasm');
      vi.stubEnv('COLL_ENGINE', 'js');
      expect(resolveEngine('auto', broken())).toEqual({ engine: jsEngine, candidates: [{ name: 'js' }] });
      expect(resolveEngine('wasm', broken()).engine.name).toBe('wasm');
      expect(sink).not.toHaveBeenCalled();
    });

    it('throws if COLL_ENGINE names an engine that does not work or does not exist', () => {
      vi.stubEnv('COLL_ENGINE', 'native');
      expect(thrown(() => resolveEngine('auto', broken()))).toMatchObject({ code: 'ERR_COLL_NO_ENGINE' });
      vi.stubEnv('COLL_ENGINE', 'cuda');
      const message = `COLL_ENGINE must be one of 'auto', native, wasm, js, got "cuda"`;
      expect(thrown(() => resolveEngine('auto'))).toMatchObject({ code: 'ERR_COLL_VALUE', message });
    });
  });

  it.each(['cuda', '', null, {}])('refuses the engine name %o', (request) => {
    expect(thrown(() => resolveEngine(request as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining("'auto', native, wasm, js"),
    });
  });
});

describe('registerEngine', () => {
  it('registers an engine for all copies of the library in this realm', async () => {
    const native = engineOf('native');
    registerEngine(native);
    registerEngine(native);
    expect(resolveEngine('auto').engine).toBe(native);
    vi.resetModules();
    const other = await import('./engines.js');
    expect(other.resolveEngine).not.toBe(resolveEngine);
    expect(other.resolveEngine('native').engine).toBe(native);
  });

  it.each<EngineName>(['native', 'wasm', 'js'])('refuses a second engine with the name %s', (name) => {
    if (name === 'native') registerEngine(engineOf(name));
    expect(thrown(() => registerEngine(engineOf(name)))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_DUPLICATE_PLUGIN',
    });
  });

  it.each([undefined, {}, { ...jsEngine, name: 'cuda' }, { ...jsEngine, join: 1 }])('refuses %o', (engine) => {
    const error = { name: 'CollError', code: 'ERR_COLL_PLUGIN' };
    expect(thrown(() => registerEngine(engine as never))).toMatchObject(error);
    expect(thrown(() => resolveEngine('auto', [engine as never]))).toMatchObject(error);
  });

  it('lets engines that are passed to resolveEngine take precedence over registered engines', () => {
    registerEngine(engineOf('native', 'registered'));
    const mine = engineOf('native');
    expect(resolveEngine('native', [mine]).engine).toBe(mine);
  });
});
