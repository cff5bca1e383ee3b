// Writes the picture that browsers show which cannot isolate the page.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launchChromium } from '../../../packages/strategy/test/browsers.ts';
import { buildPage, servePage, TrainingPage } from './training-page.ts';

const file = path.resolve(import.meta.dirname, '../public/picture.png');
const rounds = 25;
const site = mkdtempSync(path.join(tmpdir(), 'coll-browser-example-'));
await buildPage(site);
const server = await servePage(site);
const browser = await launchChromium();
const open = new TrainingPage(await browser.newPage({ viewport: { width: 1280, height: 900 } }));
await open.open(server.address);
await open.press('Start');
while ((await open.round()) < rounds) await open.page.waitForTimeout(100);
for (let digit = 0; digit <= 3; digit++) await open.press('Draw one for me');
await open.press('Pause');
await open.page.getByText('Paused after').waitFor();
await open.page.screenshot({ path: file, fullPage: true });
await browser.close();
await server.close();
rmSync(site, { recursive: true });
