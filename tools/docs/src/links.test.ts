import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksOf } from './links.ts';
import { markdownFiles, repository } from './markdown-files.ts';

const pages = markdownFiles().filter((file) => !/^\.changeset\/|CHANGELOG/.test(file));
const textOf = (file: string) => readFileSync(path.join(repository, file), 'utf8');

/** Addresses of the repository that README files of packages use, because npm shows them elsewhere. */
const published = /^https:\/\/coll\.example\/(?:blob|tree)\/main\//;

/** The file that a link of a page leads to, and the anchor in it; undefined if the link leaves the repository. */
function targetOf(page: string, link: string): { readonly file: string; readonly anchor: string } | undefined {
  if (/^\w+:/.test(link) && !published.test(link)) return undefined;
  const [name = '', anchor = ''] = link.replace(published, '/').split('#');
  const file = name === '' ? page : path.posix.join(name.startsWith('/') ? '.' : path.posix.dirname(page), name);
  return { file, anchor };
}

const isGenerated = (file: string) => file.startsWith('docs/reference/api/');

describe('anchorsOf', () => {
  it('names headings as VitePress does, and ignores code blocks', () => {
    expect([
      ...anchorsOf('# One `two`, three?\n\n```sh\n# no\n```\n\n## `nccl/xring`: x\n\n## One `two`, three?\n'),
    ]).toEqual(['one-two-three', 'nccl-xring-x', 'one-two-three-1']);
  });
});

describe('links', () => {
  it.each(pages)('of %s lead to existing files and headings', (page) => {
    const broken = linksOf(textOf(page)).filter((link) => {
      const target = targetOf(page, link);
      if (!target || isGenerated(target.file)) return false;
      if (!existsSync(path.join(repository, target.file))) return true;
      return target.anchor !== '' && !anchorsOf(textOf(target.file)).has(target.anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe('the first page of the site', () => {
  const reached = (page: string) =>
    linksOf(textOf(page)).flatMap((link) => {
      const target = targetOf(page, link);
      const isPage = target?.file.startsWith('docs/') && existsSync(path.join(repository, target.file));
      return target && isPage && !isGenerated(target.file) ? [target.file] : [];
    });
  const first = new Set(reached('docs/index.md'));
  const second = new Set([...first].filter((file) => file.endsWith('.md')).flatMap(reached));

  it.each([
    ['training on two hosts under Slurm', 'docs/guides/slurm.md', 'examples/cluster/train.sh'],
    ['what to do about a hang', 'docs/troubleshooting.md', '## The program hangs'],
    ['every environment variable', 'docs/reference/environment.md', '`COLL_STORE`'],
    ['what to install on an arm64 Mac', 'docs/index.md', 'Apple silicon'],
  ])('leads to %s by at most two links', (_, page, text) => {
    expect(new Set(['docs/index.md', ...first, ...second])).toContain(page);
    expect(textOf(page)).toContain(text);
  });
});
