import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { repository, userPages } from '../markdown-files.ts';
import { embedFiles } from './embedded-files.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'coll-embedded-'));
const example = path.relative(repository, path.join(folder, 'example.mts'));
const text = `
const one = 1;
function run() {
  // #region loop
  for (;;) {

    use(one);
  }
  // #endregion
}
`;
writeFileSync(path.join(folder, 'example.mts'), text.trimStart());
writeFileSync(path.join(folder, 'job.sh'), '# #region start\nsrun node train.js\n# #endregion\n# #region open\n');

afterAll(() => rmSync(folder, { recursive: true }));

describe('embedFiles', () => {
  it('shows a whole file without the marks of its regions', () => {
    const page = `Before\n<!-- file: ${example} -->\nold\n<!-- end -->\nafter\n`;
    const code = text.trimStart().replace(/^ *\/\/ #.*\n/gm, '');
    expect(embedFiles(page)).toBe(
      `Before\n<!-- file: ${example} -->\n\n\`\`\`ts\n${code}\`\`\`\n\n<!-- end -->\nafter\n`,
    );
  });

  it('shows a region without its indentation', () => {
    const page = embedFiles(`<!-- file: ${example}#loop -->\n<!-- end -->\n`);
    expect(page).toContain('```ts\nfor (;;) {\n\n  use(one);\n}\n```\n');
  });

  it('finds regions behind # comments, too', () => {
    const page = embedFiles(`<!-- file: ${path.dirname(example)}/job.sh#start -->\n<!-- end -->\n`);
    expect(page).toContain('```sh\nsrun node train.js\n```\n');
  });

  it('shows what one file changes in another', () => {
    writeFileSync(path.join(folder, 'changed.mts'), text.trimStart().replace('use(one)', 'use(two)'));
    const page = embedFiles(`<!-- diff: ${example} ${example.replace('example', 'changed')} -->\n<!-- end -->\n`);
    expect(page).toContain('```diff\n …\n \n-    use(one);\n+    use(two);\n   }\n```\n');
    expect(embedFiles(page)).toBe(page);
  });

  it('changes nothing when it is applied again', () => {
    const page = embedFiles(
      `<!-- file: ${example}#loop -->\n<!-- end -->\n\n<!-- file: ${example} -->\n<!-- end -->\n`,
    );
    expect(embedFiles(page)).toBe(page);
  });

  it('rejects a mark without an end, an unknown region and a region without an end', () => {
    expect(() => embedFiles(`<!-- file: ${example} -->\n`)).toThrow('has no <!-- end -->');
    expect(() => embedFiles(`<!-- file: ${example}#no -->\n<!-- end -->\n`)).toThrow('must have one region no, has 0');
    const open = `<!-- file: ${path.dirname(example)}/job.sh#open -->\n<!-- end -->\n`;
    expect(() => embedFiles(open)).toThrow('has no #endregion');
  });
});

const pages = userPages().map((name) => [name, readFileSync(path.join(repository, name), 'utf8')] as const);

it.each(pages.filter(([, page]) => /<!-- (file|diff): /.test(page)))(
  '%s contains the current examples; npm run embed -w @coll/docs updates them',
  (_, page) => {
    expect(page).toBe(embedFiles(page));
  },
);

it('every mark of an embedded file stands on a line of its own', () => {
  const stray = pages.filter(([, page]) => /<!-- file:/.test(page.replaceAll(/^<!-- file: \S+ -->$/gm, '')));
  expect(stray.map(([name]) => name)).toEqual([]);
});
