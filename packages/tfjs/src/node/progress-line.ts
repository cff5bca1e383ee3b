import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type ReplicaInfo, requireContext } from '@coll/strategy/internal';
import { Presets, SingleBar } from 'cli-progress';
import { type PresentStep, presentStepOf } from '../present-step.js';
import { stepsPerEpochOf, type TfCallback } from '../tf-callbacks.js';

/**
 * Makes a callback that shows the progress of a training, on replica 0: the epoch, steps, samples per
 * second over all replicas, the loss, and which shares of the time replicas wait for others and
 * exchange gradients. In a terminal, a line shows the present epoch, with the own loss of replica 0, and
 * each epoch leaves a line with the metrics of all replicas. Without a terminal, epochs print a line
 * at most every ten seconds. The end of the training prints whether several replicas pay.
 *
 * Pass it to `distributedCallbacks`, which finds out what it shows.
 * @throws ValueError unless `context` is the context of a replica
 *
 * @example
 * ```ts
 * import { MirroredStrategy } from '@coll/strategy';
 * import { distributedCallbacks } from '@coll/tfjs';
 * import { progressLine } from '@coll/tfjs/node';
 * import * as tf from '@tensorflow/tfjs';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * await strategy.run(async (replica) => {
 *   const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
 *   model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 *   await model.fit(tf.zeros([4, 1]), tf.zeros([4, 1]), {
 *     epochs: 2,
 *     verbose: 0,
 *     callbacks: distributedCallbacks(tf, progressLine(replica), replica),
 *   });
 * }); // prints: epoch 1/2 · step 1 · 500 samples/s · loss 0.0000
 * ```
 */
export function progressLine(context: ReplicaInfo): TfCallback {
  requireContext(context, 'allReduce', 'progressLine');
  if (context.replicaIdInSyncGroup !== 0) return {};
  return progressOn(isatty(1) ? terminal : undefined, context);
}

/** The part of a terminal that the line uses. */
interface Terminal {
  readonly isTTY: boolean;
  readonly columns: number;
  write(text: string): boolean;
}

/** A terminal that also threads can write to; `process.stdout` of a thread is none. */
const terminal: Terminal = {
  isTTY: true,
  get columns() {
    return process.stdout.columns ?? 80;
  },
  write(text: string): boolean {
    try {
      writeSync(1, text);
    } catch (error) {
      // A slow terminal misses a picture.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return true;
  },
};

const millisecondsBetweenLines = 10_000;

/** @param stream the terminal; undefined if there is none */
export function progressOn(
  stream: Terminal | undefined,
  context: ReplicaInfo,
  now: () => number = () => performance.now(),
): TfCallback {
  const present = presentStepOf(context);
  const { numReplicasInSync: replicas } = context;
  let params: { readonly [name: string]: unknown } = {};
  let bar: SingleBar | undefined;
  let [step, stepsOfEpoch, begin, rows] = [0, 0, 0, 0];
  let printed = Number.NEGATIVE_INFINITY;
  let waiting: string | undefined;
  /** The width of the line in front of its figures. */
  let widthOf = (_step: number) => 0;

  const nameOf = (epoch: number) => {
    const { epochs } = params;
    return typeof epochs === 'number' ? `epoch ${epoch + 1}/${epochs}` : `epoch ${epoch + 1}`;
  };
  const rate = (samples: number) => `${Math.round((1000 * samples) / (now() - begin)).toLocaleString('en')} samples/s`;
  const print = (line: string) => {
    if (stream) stream.write(`${line}\n`);
    else console.log(line);
    printed = now();
    waiting = undefined;
  };

  return {
    setParams: (given) => {
      params = given as typeof params;
    },
    onTrainBegin: () => {
      step = 0;
    },
    onEpochBegin: (epoch) => {
      begin = now();
      const known = stepsPerEpochOf(params) ?? stepsOfEpoch;
      widthOf = (step) => `${nameOf(epoch)} ${' '.repeat(barOptions.barsize)} step ${step}/${known}`.length;
      stepsOfEpoch = rows = 0;
      if (!stream) return;
      bar = new Bar(
        { ...barOptions, stream: stream as never, format: known > 0 ? withTotal : withoutTotal },
        Presets.shades_classic,
      );
      bar.start(known, 0, { epoch: nameOf(epoch), figures: '' });
    },
    onBatchEnd: (_, { size = 0, loss }) => {
      step += 1;
      stepsOfEpoch += 1;
      rows += size;
      const figures = [
        ...(rows > 0 ? [rate(rows * replicas)] : []),
        ...(loss === undefined ? [] : [`${replicas > 1 ? 'own loss' : 'loss'} ${loss.toFixed(4)}`]),
        ...sharesOf(present),
      ];
      bar?.update(stepsOfEpoch, { figures: fitting(figures, (stream?.columns ?? 0) - widthOf(stepsOfEpoch)) });
    },
    onEpochEnd: (epoch, logs) => {
      bar?.stop();
      bar = undefined;
      const { rows: rowsOfAll } = present.epoch ?? {};
      const numbers = Object.entries(logs).filter(([, value]) => typeof value === 'number');
      const metrics = numbers.map(([name, value]) => `${name} ${value.toFixed(4)}`);
      const line = [
        nameOf(epoch),
        `step ${step}`,
        ...(rowsOfAll ? [rate(rowsOfAll)] : []),
        ...metrics,
        ...sharesOf(present),
      ].join(' · ');
      waiting = line;
      if (stream || now() - printed >= millisecondsBetweenLines) print(line);
    },
    onTrainEnd: () => {
      if (waiting) print(waiting);
      const { verdict } = present.epoch?.summary ?? {};
      if (verdict) print(verdict);
    },
  };
}

const withTotal = '{epoch} {bar} step {value}/{total}{figures}';
const withoutTotal = '{epoch} · step {value}{figures}';
const barOptions = { barsize: 10, clearOnComplete: true, linewrap: true, emptyOnZero: true } as const;

/** A bar that does not keep the program alive if the training fails. */
class Bar extends SingleBar {
  override render(): void {
    super.render();
    (this as unknown as { readonly timer?: NodeJS.Timeout }).timer?.unref();
  }
}

/** The first figures, as many as have room. */
function fitting(figures: readonly string[], room: number): string {
  const texts = figures.map((figure) => ` · ${figure}`);
  const ends = texts.map((_, at) => texts.slice(0, at + 1).join('').length);
  return texts.filter((_, at) => (ends[at] as number) <= room).join('');
}

function sharesOf({ epoch }: PresentStep): string[] {
  if (!epoch?.summary) return [];
  const { waiting, exchange } = epoch.summary;
  return [`${Math.round(100 * waiting)} % waiting, ${Math.round(100 * exchange)} % exchange`];
}
