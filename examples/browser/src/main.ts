// The program of the page.
import { batchSize } from './course.ts';
import { find } from './elements.ts';
import { isolatePage, keepForOffline } from './isolation.ts';
import { ReadingPanel } from './reading-panel.ts';
import { baselineUrl } from './speed.ts';
import { SpeedPanel } from './speed-panel.ts';
import { replicaUrl } from './training.ts';
import { TrainingPanel } from './training-panel.ts';
import { wasmFiles } from './wasm-files.ts';

const isIsolated = await isolatePage();
find(isIsolated ? 'live' : 'still').hidden = false;
if (isIsolated) {
  // As many replicas as the machine has cores, if a batch can be divided by their number.
  const cores = Array.from({ length: Math.min(navigator.hardwareConcurrency, 12) }, (_, index) => index + 1);
  const counts = cores.filter((count) => batchSize % count === 0);
  const training = new TrainingPanel(counts, () => reading.read());
  const reading = new ReadingPanel(() => training.weights);
  new SpeedPanel(counts, (work) => training.hold(work));
  await keepForOffline([replicaUrl, baselineUrl, ...Object.values(wasmFiles)]);
}
