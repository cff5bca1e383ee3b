import { expect, it } from 'vitest';
import type { EngineAnswer } from '../project-answers.js';
import { engineLines } from './engine.js';

const binary = '@coll/native-linux-x64-gnu';
const works = { isOfProject: true, engine: 'native', simd: 'avx2', place: binary } as const;
const refused = { isOfProject: true, engine: 'wasm', refused: 'its binary is missing', advice: 'npm install x' };

const lines = (answer: EngineAnswer, wanted?: string, platform = binary) =>
  engineLines({ answer }, { COLL_ENGINE: wanted }, platform);

it('the native engine is ok', () => {
  expect(lines(works)).toEqual([
    { name: 'engine', verdict: 'ok', text: 'native, with avx2', data: { wanted: 'auto', ...works } },
    { name: 'native binary', text: `${binary}, for the C library glibc`, data: { binary, place: binary } },
  ]);
  expect(lines(works, 'native')[0]?.text).toBe('native, with avx2, set by COLL_ENGINE=native');
});

it('another engine is slow if native is refused, with the advice of the engine', () => {
  expect(lines(refused)[0]).toMatchObject({
    verdict: 'slow',
    text: 'wasm; groups of processes cannot open, because native is refused: its binary is missing',
    cure: 'npm install x',
  });
});

it('another engine is slow on a platform without a binary, with the platforms that have one', () => {
  const { advice: _, ...answer } = refused;
  const [engine, none] = lines(answer, undefined, '@coll/native-freebsd-x64');
  expect(engine).toMatchObject({ verdict: 'slow', cure: expect.stringMatching(/^use a platform .*linux-x64-gnu, /) });
  expect(none).toMatchObject({ text: 'none for @coll/native-freebsd-x64' });
});

it('an engine that COLL_ENGINE names is slow if native works', () => {
  expect(lines({ ...works, engine: 'js' }, 'js')[0]).toMatchObject({
    verdict: 'slow',
    text: 'js, set by COLL_ENGINE=js; native works here',
    cure: 'unset COLL_ENGINE',
  });
});

it('COLL_ENGINE=native is broken without a native engine, and so is an unknown engine', () => {
  const error = 'no engine is available for "native"';
  const none = { isOfProject: false, error, refused: 'its binary is missing', advice: 'npm install x' };
  expect(lines(none, 'native')[0]).toMatchObject({ verdict: 'broken', text: error, cure: 'npm install x' });
  expect(lines({ ...works, engine: undefined, error: 'must be' }, 'fast')[0]).toMatchObject({
    verdict: 'broken',
    text: 'must be',
    cure: 'unset COLL_ENGINE, or set it to native, wasm, js or auto',
  });
});

it('an engine that crashes the process is broken', () => {
  expect(engineLines({ failure: 'its process ended by SIGILL' }, {}, binary)).toEqual([
    {
      name: 'engine',
      verdict: 'broken',
      text: 'the engine could not be probed: its process ended by SIGILL',
      cure: 'delete node_modules and run npm install on this system',
    },
  ]);
});

it('the binary is named with its C library and the place that it was loaded from', () => {
  const text = (answer: EngineAnswer, platform: string) => lines(answer, undefined, platform)[1]?.text;
  expect(text(works, '@coll/native-darwin-arm64')).toBe(`@coll/native-darwin-arm64; loaded from ${binary}`);
  expect(text(refused, '@coll/native-linux-x64-musl')).toBe(
    '@coll/native-linux-x64-musl, for the C library musl; not loaded',
  );
});
