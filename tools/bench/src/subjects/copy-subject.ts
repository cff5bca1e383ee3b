import { elementsOf, type Trial } from '../trial.js';
import type { Subject } from './subject.js';

/** A copy between two buffers by one thread: the cost of reading and writing the bytes once. */
export function copySubject(trial: Trial): Subject {
  const length = elementsOf(trial);
  const [from, into] = [new Float32Array(length).fill(1), new Float32Array(length).fill(0)];
  return {
    isSync: true,
    rewrite() {
      from.fill(1);
    },
    call: () => into.set(from),
    problem: () => (into.at(-1) === 1 ? undefined : 'the copy has not arrived'),
    agree() {},
  };
}
