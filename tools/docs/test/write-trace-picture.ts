import { openBrowser, pictureFile, recordTimeline, removeTimeline, showTimeline } from './trace-picture.ts';

// npm run picture -w @coll/docs, after npm run build: draws the picture of a trace anew.

const timeline = await recordTimeline();
const browser = await openBrowser();
try {
  const page = await browser.newPage();
  await showTimeline(page, timeline);
  await page.screenshot({ path: pictureFile });
} finally {
  await browser.close();
  removeTimeline(timeline);
}
