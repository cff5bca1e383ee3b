import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createMarkdownRenderer, defineLoader, type SiteConfig } from 'vitepress';
import { sources } from '../../../tools/docs/src/playground/sources.ts';
import { addressOf } from '../repository-links.ts';

/** A source file as highlighted HTML, and its address in the repository. */
export interface Source {
  readonly html: string;
  readonly address: string;
}

const files = Object.values(sources);
const root = path.resolve(import.meta.dirname, '../../..');

/** The source files of all algorithms, by path in the repository. */
export declare const data: Readonly<Record<string, Source>>;

export default defineLoader({
  watch: files.map((file) => path.join(root, file)),
  async load(): Promise<typeof data> {
    const { VITEPRESS_CONFIG: config } = globalThis as unknown as { readonly VITEPRESS_CONFIG: SiteConfig };
    const markdown = await createMarkdownRenderer(config.srcDir, config.markdown, config.site.base, config.logger);
    const render = (file: string): Source => {
      const text = readFileSync(path.join(root, file), 'utf8');
      return { html: markdown.render(`\`\`\`ts\n${text}\`\`\`\n`), address: addressOf(file) };
    };
    return Object.fromEntries(files.map((file) => [file, render(file)]));
  },
});
