import { describe, expect, it } from 'vitest';
import { importModule } from './import-module.js';

describe('importModule', () => {
  it('returns the exports of the module', async () => {
    expect(await importModule('data:text/javascript,export const five = 5;')).toMatchObject({ five: 5 });
  });

  it('refuses a missing module', async () => {
    await expect(importModule('file:///nowhere/at-all.js')).rejects.toMatchObject({
      code: 'ERR_COLL_MODULE',
      message: expect.stringMatching(/^file:\/\/\/nowhere\/at-all\.js cannot be loaded in a worker thread: /),
      cause: { code: 'ERR_MODULE_NOT_FOUND' },
    });
  });

  it('throws the error that the module throws', async () => {
    const module = "data:text/javascript,throw new RangeError('while loading');";
    const error = await importModule(module).catch((thrown) => thrown);
    expect([error.name, error.message]).toEqual(['RangeError', 'while loading']);
  });

  it.each(['let x = ;', 'import "data:text/javascript,let x = ;"'])(
    'names the module that does not parse: %s',
    async (code) => {
      const module = `data:text/javascript,${encodeURIComponent(code)}`;
      const error = await importModule(module).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(SyntaxError);
      expect(error.message).toBe(
        `loading ${module}: Unexpected token ';'; \`node\` with this file prints the line, which may be in a module that it imports`,
      );
    },
  );
});
