import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { jsEngine } from '../js/js-engine.js';
import { setLogSink } from '../support/logger.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import type { Engine, EngineName } from './engine.js';
import { registerEngine, resolveEngine } from './engines.js';

const key = Symbol.for('@coll/core.engines.v1');
const realm = globalThis as { [key]?: unknown };

// Whatever was registered in this realm before stays out of these tests.
beforeEach(() => {
  realm[key] = undefined;
});
afterEach(() => setLogSink());

function engineOf(name: EngineName, reason?: string): Engine {
  return { ...jsEngine, name, probe: () => (reason ? { available: false, reason } : { available: true }) };
}

describe('resolveEngine', () => {
  it("'auto' takes the first of native, wasm and js that works, and keeps why the others do not", () => {
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

  it('asks nobody after the one that is taken', () => {
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

  it('takes exactly the one that is named', () => {
    const native = engineOf('native');
    expect(resolveEngine('js', [native])).toEqual({ engine: jsEngine, candidates: [{ name: 'js' }] });
    expect(resolveEngine('native', [native]).engine).toBe(native);
  });

  it('says why the one that is named cannot be taken', () => {
    const refused = engineOf('native', 'its binary is for another system');
    expect(thrown(() => resolveEngine('native', [refused]))).toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_NO_ENGINE',
      message: `no engine is available for "native": native: its binary is for another system; 'auto' takes the fastest that works here`,
    });
  });

  it('says how to get the one that is not registered; under auto, that is no error', () => {
    const told =
      "not registered: import '@coll/native/register', after npm install @coll/native if it is not installed";
    expect(thrown(() => resolveEngine('native'))).toMatchObject({
      code: 'ERR_COLL_NO_ENGINE',
      message: expect.stringContaining(told),
    });
    expect(resolveEngine('auto').candidates[0]).toEqual({ name: 'native', refused: told });
  });

  it('takes an engine whose probe throws for one that does not work', () => {
    const broken: Engine = {
      ...engineOf('native'),
      probe() {
        throw new Error('symbol not found');
      },
    };
    expect(resolveEngine('auto', [broken]).candidates[0]?.refused).toBe('its probe failed: symbol not found');
  });

  it('says once why it is not the fastest, and nothing where it is', () => {
    const sink = vi.fn();
    setLogSink(sink);
    resolveEngine('auto', [engineOf('native')]);
    resolveEngine('js');
    expect(sink).not.toHaveBeenCalled();
    const without = [engineOf('native', 'too old'), engineOf('wasm', 'too new')];
    for (let time = 0; time < 3; time++) resolveEngine('auto', without);
    expect(sink.mock.calls).toEqual([['info', 'taking the js engine: native was refused (too old)']]);
  });

  it.each(['cuda', '', null, {}])('refuses the name %o', (request) => {
    expect(thrown(() => resolveEngine(request as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining("'auto', native, wasm, js"),
    });
  });
});

describe('registerEngine', () => {
  it('makes an engine known, also to other copies of the library in this realm', async () => {
    const native = engineOf('native');
    registerEngine(native);
    registerEngine(native);
    expect(resolveEngine('auto').engine).toBe(native);
    vi.resetModules();
    const other = await import('./engines.js');
    expect(other.resolveEngine).not.toBe(resolveEngine);
    expect(other.resolveEngine('native').engine).toBe(native);
  });

  it.each<EngineName>(['native', 'wasm', 'js'])('refuses a second %s', (name) => {
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

  it('puts what is handed in before what is registered', () => {
    registerEngine(engineOf('native', 'registered'));
    const mine = engineOf('native');
    expect(resolveEngine('native', [mine]).engine).toBe(mine);
  });
});
