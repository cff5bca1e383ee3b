import { type PackingOptions, zeros } from '@coll/core';
import { arrange, type Pack } from '@coll/core/internal';
import { markdownTable } from '../markdown-table.ts';

/** The tensors of an example batch: their names in the tables, and their numbers of float32 elements. */
const gradients = [
  { name: 'a', elements: 15 },
  { name: 'b', elements: 10 },
  { name: 'c', elements: 2 },
  { name: 'd', elements: 2 },
  { name: 'e', elements: 11 },
];

interface Example {
  readonly words: string;
  readonly options?: PackingOptions;
  readonly bytesPerPack?: number;
}

const examples: readonly Example[] = [
  { words: 'nothing said: `numPacks: 1`' },
  { words: '`numPacks: 3`', options: { numPacks: 3 } },
  { words: '`numPacks: 0`', options: { numPacks: 0 } },
  {
    words: '`numPacks: 0, aggSmallGradsMaxBytes: 40`',
    options: { numPacks: 0, aggSmallGradsMaxBytes: 40 },
  },
  { words: '`bytesPerPack: 40`', bytesPerPack: 40 },
  { words: '`bytesPerPack: 60`', bytesPerPack: 60 },
  { words: '`bytesPerPack: 1000`', bytesPerPack: 1000 },
];

/** The table of the tensors, in the order of the call. */
export function gradientsTable(): string {
  const rows = [
    ['tensor', ...gradients.map(({ name }) => name)],
    ['elements', ...gradients.map(({ elements }) => `${elements}`)],
    ['bytes', ...gradients.map(({ elements }) => `${4 * elements}`)],
  ] as const;
  return markdownTable(rows[0], rows.slice(1));
}

/** The table of the packs that `PackingOptions` make of these tensors, in the order in which they start. */
export function packsTable(): string {
  const rows = examples.map(({ words, options, bytesPerPack }) => {
    const tensors = gradients.map(({ elements }) => zeros('float32', [elements]));
    return [words, arrange(tensors, options, bytesPerPack).map(textOf).join(', then ')];
  });
  return markdownTable(['options', 'packs'], rows, 2);
}

function textOf({ pieces }: Pack): string {
  const parts = pieces.map(({ index, begin, end }) => {
    const { name, elements } = gradients[index] as (typeof gradients)[number];
    return begin === 0 && end === elements ? name : `${name}[${begin}…${end - 1}]`;
  });
  return `(${parts.join(' ')})`;
}
