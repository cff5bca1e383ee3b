import type { CommunicationOptions, EngineResolution } from '@coll/core';
import { log } from '@coll/core/internal';
import type { StrategyFacts } from '../choice/strategy-log.js';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import type { WorkerCollectives } from './worker-collectives.js';
import type { WorkerInfo } from './worker-info.js';

/** Logs which worker this is, before the workers meet. */
export function tell(
  info: WorkerInfo,
  { environment }: ClusterResolver,
  devices: readonly string[],
  { implementation }: CommunicationOptions,
  notes: readonly string[],
): void {
  const source = environment === '' ? '' : ` (${environment})`;
  const message = `worker ${info.idInCluster} of ${info.workers}${source}, with devices ${devices.join(', ')}`;
  const level = info.idInCluster === 0 ? 'info' : 'debug';
  log(level, `MultiWorkerMirroredStrategy as ${message}, communication ${implementation}`, {
    worker: info.idInCluster,
  });
  for (const note of notes) log('warn', note);
}

/** What combines the values of all workers, once they have joined. */
export async function factsOf(
  collectives: WorkerCollectives,
  { engine: { name: engine, simd } }: EngineResolution,
): Promise<Pick<StrategyFacts, 'ops' | 'notes' | 'engine' | 'simd' | 'workers'>> {
  const { name: ops, notes } = (await collectives.deviceOps()).explain();
  const { links, hosts, size: count } = collectives;
  const transport = [...new Set(links.map((link) => link.transport))].sort().join(' and ');
  return { ops, notes, engine, simd, workers: links.length > 0 ? { count, hosts, transport } : undefined };
}
