import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../strategy/test/browsers.ts';
import { PageServer } from '../../strategy/test/page-server.ts';

const programs = ['program', 'replica'].map((name) => `${import.meta.dirname}/fixtures/page-${name}.ts`);
const epochs = 3;

interface Fitted {
  readonly loss: readonly number[];
  readonly weights: readonly Float32Array[];
}

it.skipIf(!hasChromium)(
  'model.fit trains in two workers of Chromium, with the bits of threads of Node.js',
  async () => {
    await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const module = new URL('./fixtures/page-replica.ts', import.meta.url);
    const results = strategy.experimentalLocalResults(
      await strategy.run(module, { args: [epochs] }),
    ) as readonly Fitted[];
    const wanted = results.map(({ loss, weights }) => ({ loss, weights: weights.map((weight) => [...weight]) }));
    expect(wanted[1]?.weights).toEqual(wanted[0]?.weights);

    await using server = await PageServer.open(programs);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(server.address);
      expect(await page.evaluate(`fit(${epochs})`)).toEqual(wanted);
    } finally {
      await browser.close();
    }
  },
);
