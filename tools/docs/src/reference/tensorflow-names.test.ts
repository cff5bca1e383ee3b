import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const docs = path.resolve(import.meta.dirname, '../../../../docs');
const reference = path.join(docs, 'reference');
const page = readFileSync(path.join(reference, 'tensorflow-names.md'), 'utf8');
const links = [...page.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, label = '', target = '']) => ({ label, target }));
const named = links.filter(({ label, target }) => label.startsWith('`') && target.endsWith('.ts'));

/** Classes of TensorFlow's documentation, with their arguments, methods and members. */
const documented = [
  'CommunicationOptions bytes_per_pack timeout_seconds implementation CollectiveHints',
  'CommunicationImplementation AUTO RING NCCL CollectiveCommunication',
  'MultiWorkerAllReduce worker_devices num_gpus_per_worker all_reduce_spec num_packs agg_small_grads_max_bytes agg_small_grads_max_group',
  'NcclAllReduce HierarchicalCopyAllReduce ReductionToOneDevice reduce_to_device accumulation_fn',
  'CrossDeviceOps reduce batch_reduce broadcast reduce_implementation batch_reduce_implementation broadcast_implementation',
  'AllReduceCrossDeviceOps all_reduce_alg AllReduceCrossTowerOps ReduceOp SUM MEAN',
  'per_replica_value destinations value_destination_pairs',
];

describe('docs/reference/tensorflow-names.md', () => {
  it('contains every name that the pages of TensorFlow document', () => {
    const missing = documented
      .flatMap((names) => names.split(' '))
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(page));
    expect(missing).toEqual([]);
  });

  it('links to existing files only', () => {
    const targets = links.map(({ target }) => target).filter((target) => !target.startsWith('#'));
    expect(targets.length).toBeGreaterThan(50);
    expect(targets.filter((target) => !existsSync(path.join(reference, target)))).toEqual([]);
  });

  it.each(named.map(({ label, target }) => [label.replaceAll('`', ''), target] as const))(
    'names %s in %s, and its package exports it',
    (label, target) => {
      const [name = '', member] = label.split('.');
      const source = readFileSync(path.join(reference, target), 'utf8');
      expect(source).toMatch(
        new RegExp(`^export (abstract |async )*(class|const|function|interface|type) ${name}\\b`, 'm'),
      );
      if (member !== undefined) expect(source).toMatch(new RegExp(`^  (async |get |static )*${member}\\(`, 'm'));
      const [folder] = /^.*\/src\//.exec(target) ?? [''];
      // The package of strategies exports the names that it shares with groups of processes.
      const indexes = [path.join(folder, 'index.ts'), '../../packages/strategy/src/index.ts'];
      const exported = indexes.map((index) => readFileSync(path.join(reference, index), 'utf8'));
      expect(exported.join()).toMatch(new RegExp(`\\b${name}\\b`));
    },
  );
});
