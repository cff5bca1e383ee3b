import { count, type Judgement, percent, type Row, samplesPerStep } from './try-verdict.js';

/** What was measured, for people: a table, the verdict, and notes. */
export function textOf(judgement: Judgement): string {
  const { verdict, notes } = judgement;
  return [tableOf(judgement), '', verdict, ...notes.map((note) => `note: ${note}`)].join('\n');
}

type Column = readonly [title: string, text: (row: Row) => string];

const unknown = '–';

/** One line for each run. */
export function tableOf({ unit, rows }: Judgement): string {
  const columns: readonly Column[] = [
    ['replicas', ({ replicas }) => String(replicas)],
    ...(unit === 'samples' ? ofSamples : ofSteps),
    ['speed-up', ({ speedUp }) => speedUp.toFixed(2)],
    ['waiting', ({ shares }) => (shares ? percent(shares.waiting) : unknown)],
    ['exchange', ({ shares }) => (shares ? percent(shares.exchange) : unknown)],
    ['cores busy', ({ coresBusy }) => coresBusy.toFixed(1)],
    ['memory', ({ memoryBytes }) => `${count(memoryBytes / 1e6)} MB`],
  ];
  const cells = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, text]) => text(row)))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => (line[column] as string).length)));
  return cells
    .map((line) => line.map((cell, column) => cell.padStart(widths[column] as number)).join('   '))
    .join('\n');
}

const ofSamples: readonly Column[] = [
  ['samples/s', ({ rate }) => count(rate)],
  ['samples/step', (row) => count(samplesPerStep(row) as number)],
];

const ofSteps: readonly Column[] = [['steps/s', ({ stepsPerSecond }) => count(stepsPerSecond)]];
