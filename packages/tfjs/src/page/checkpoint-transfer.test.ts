import { describe, expect, it } from 'vitest';
import { exportCheckpoint, importCheckpoint } from './index.js';

describe('files of a page', () => {
  it('are refused where the browser has none, with the cure', async () => {
    const refusal = {
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
      message: expect.stringMatching(
        /need an origin private file system, .*; serve the page over HTTPS .*; in Node\.js,/,
      ),
    };
    await expect(exportCheckpoint('line')).rejects.toMatchObject(refusal);
  });

  it('are imported only from a list of files with a manifest', async () => {
    await expect(importCheckpoint('line', 'model.json' as never)).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    await expect(importCheckpoint('line', [new File(['{}'], 'model.json')])).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CHECKPOINT',
      message:
        'importCheckpoint: the files are not a whole checkpoint: checkpoint.json does not exist; pass checkpoint.json and all files beside it, got model.json',
    });
  });
});
