import path from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

const repository = 'https://coll.example/blob/main';

/** The address in the repository of a file, which is given by its path. */
export function addressOf(file: string): string {
  return `${repository}/${file}`;
}

/** Links that leave the site, to sources, examples and figures, lead to the repository. */
export function linkToRepository(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('links to the repository', ({ tokens, env }) => {
    const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open');
    for (const link of links) {
      const target = String(link.attrGet('href'));
      if (/^(\w+:|\/|#)/.test(target)) continue;
      const file = path.posix.join('docs', path.posix.dirname(env.relativePath), target);
      if (isPage(file)) continue;
      link.attrSet('href', addressOf(file));
    }
  });
}

/** Whether the site shows a file, given by its path in the repository. */
function isPage(file: string): boolean {
  const [name = ''] = file.split('#');
  return name.startsWith('docs/') && !/\.(jsonl|svg)$/.test(name);
}
