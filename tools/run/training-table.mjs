// The README's table of training speeds, made from docs/figures/training.jsonl.

/** Replicas pay if together they make this many times the samples per second of one process. */
const worthwhile = 1.25;

const names = { 'jax-js': 'jax-js', tfjs: 'TensorFlow.js, wasm' };

/** @param rows what `examples/train/main.ts --json` printed, with `cpu`, `cores` and `date` */
export function trainingTable(rows) {
  const counts = [...new Set(rows.map(({ replicas }) => replicas))].sort((a, b) => a - b);
  const header = [
    'framework',
    'global batch',
    'one process',
    ...counts.map((count) => `${count} replicas`),
    'speed-up',
  ];
  const body = groups(rows).map(({ framework, batchSize, runs }) => {
    const speeds = counts.map((count) => runs.find(({ replicas }) => replicas === count));
    const best = Math.max(...runs.map(speedUp));
    const cells = [runs[0].samplesPerSecondOfOne, ...speeds.map((run) => run?.samplesPerSecond)];
    return [names[framework], batchSize.toLocaleString('en'), ...cells.map(rate), best.toFixed(2)];
  });
  const align = header.map((_, index) => (index === 0 ? '---' : '---:'));
  const [{ cpu, cores, date, parameters }] = rows;
  const frameworks = [...new Set(rows.map(({ framework }) => framework))];
  return `${[header, align, ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}

Samples per second of a model with ${parameters.toLocaleString('en')} parameters, the best of the runs with several replicas as speed-up. ${frameworks.map((framework) => from(framework, rows)).join(' ')} ${cpu}, ${cores} cores, ${date}.`;
}

/** From which batch on replicas pay. */
function from(framework, rows) {
  const all = groups(rows).filter((group) => group.framework === framework);
  const pays = all.map(({ runs }) => Math.max(...runs.map(speedUp)) >= worthwhile);
  const first = pays.lastIndexOf(false) + 1;
  const name = names[framework];
  if (first === all.length) return `In ${name}, several replicas pay for none of these batches.`;
  return `In ${name}, several replicas pay (${worthwhile} times one process) from a batch of ${all[first].batchSize.toLocaleString('en')} on.`;
}

function groups(rows) {
  const keys = [...new Set(rows.map(({ framework, batchSize }) => `${framework} ${batchSize}`))];
  return keys.map((key) => {
    const runs = rows.filter(({ framework, batchSize }) => `${framework} ${batchSize}` === key);
    return { framework: runs[0].framework, batchSize: runs[0].batchSize, runs };
  });
}

function speedUp({ samplesPerSecond, samplesPerSecondOfOne }) {
  return samplesPerSecond / samplesPerSecondOfOne;
}

function rate(samplesPerSecond) {
  return samplesPerSecond === undefined ? '–' : Math.round(samplesPerSecond).toLocaleString('en');
}
