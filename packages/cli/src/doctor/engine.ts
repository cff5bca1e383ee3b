import { platformPackage, published } from '@coll/native/addon';
import type { EngineAnswer } from '../project-answers.js';
import { askProject, type Reply } from '../project-question.js';
import type { Check, Line, Place } from './line.js';

/** The engine that `engine: 'auto'` takes in the project. */
export const engineCheck: Check = {
  name: 'engine',
  examine: async ({ folder, environment }) =>
    engineLines(await askProject('engine', folder), environment, platformPackage()),
};

/** @param binary the package with the native engine for this platform */
export function engineLines(
  reply: Reply<EngineAnswer>,
  environment: Place['environment'],
  binary: string,
): readonly Line[] {
  if ('failure' in reply) {
    const text = `the engine could not be probed: ${reply.failure}`;
    const cure = 'delete node_modules and run npm install on this system';
    return [{ name: 'engine', verdict: 'broken', text, cure }];
  }
  const { answer } = reply;
  return [engineLine(answer, environment['COLL_ENGINE'] || 'auto'), binaryLine(answer, binary)];
}

function engineLine(answer: EngineAnswer, wanted: string): Line {
  const { engine, simd, refused, advice, error } = answer;
  const line = { name: 'engine', data: { wanted, ...answer } };
  const by = wanted === 'auto' ? '' : `, set by COLL_ENGINE=${wanted}`;
  const cure = advice ?? `use a platform with a native engine: ${published.join(', ')}`;
  if (engine === undefined) {
    const other = 'unset COLL_ENGINE, or set it to native, wasm, js or auto';
    const why = wanted === 'native' && refused !== undefined ? cure : other;
    return { ...line, verdict: 'broken', text: error ?? `there is no engine${by}`, cure: why };
  }
  if (engine === 'native') return { ...line, verdict: 'ok', text: `native, with ${simd}${by}` };
  if (refused === undefined)
    return { ...line, verdict: 'slow', text: `${engine}${by}; native works here`, cure: 'unset COLL_ENGINE' };
  const text = `${engine}${by}; groups of processes cannot open, because native is refused: ${refused}`;
  return { ...line, verdict: 'slow', text, cure };
}

function binaryLine({ place, refused }: EngineAnswer, binary: string): Line {
  const libc = /-(gnu|musl)$/.exec(binary)?.[1];
  const name = libc === undefined ? binary : `${binary}, for the C library ${libc === 'gnu' ? 'glibc' : 'musl'}`;
  const where = place === undefined || place === binary ? '' : `; loaded from ${place}`;
  const isPublished = published.some((platform) => binary === `@coll/native-${platform}`);
  const text = isPublished ? `${name}${refused === undefined ? where : '; not loaded'}` : `none for ${name}`;
  return { name: 'native binary', text, data: { binary, place } };
}
