import { availableCores } from './cores.js';

/**
 * The options of Node.js with which ranks of one machine collect garbage fastest. If `ranks` leave
 * no core free, V8 should not mark objects in between: threads of every rank would do it, and take
 * the cores from all ranks. Objects are then marked when garbage is collected, in longer pauses.
 *
 * @example
 * ```ts
 * import { collectorFlags } from '@coll/native/machine';
 *
 * console.log(collectorFlags(4, 4)); // [ '--no-incremental-marking' ]
 * console.log(collectorFlags(4, 8)); // []
 * ```
 */
export function collectorFlags(ranks: number, cores = availableCores()): readonly string[] {
  return ranks < cores ? [] : ['--no-incremental-marking'];
}
