// The program of the page.
import { MirroredStrategy } from '@coll/strategy';
import address from './replica.ts?worker&url';

const replicas = document.querySelector<HTMLInputElement>('#replicas') as HTMLInputElement;
const button = document.querySelector<HTMLButtonElement>('#train') as HTMLButtonElement;
const progress = document.querySelector('#progress') as HTMLElement;

button.onclick = async () => {
  button.disabled = true;
  const devices = Array.from({ length: replicas.valueAsNumber }, (_, index) => `cpu:${index}`);
  const strategy = new MirroredStrategy({ devices });
  try {
    const times = await strategy.run<typeof import('./replica.ts')>(new URL(address, location.href), {
      onReport: (_, line) => {
        progress.textContent = String(line);
      },
    });
    const [seconds] = strategy.experimentalLocalResults(times);
    progress.textContent += `; ${devices.length} replicas took ${seconds?.toFixed(1)} seconds`;
  } catch (error) {
    progress.textContent = String(error);
  } finally {
    await strategy.close();
    button.disabled = false;
  }
};
