import { readFileSync } from 'node:fs';
import path from 'node:path';

const repository = path.resolve(import.meta.dirname, '../../../..');

/** A page with the files that it shows as they are: each stands between `<!-- file: its/path -->` and `<!-- end -->`. */
export function embedFiles(page: string): string {
  return page.replace(/(<!-- file: (\S+) -->\n).*?(<!-- end -->)/gs, (_, begin: string, file: string, end: string) => {
    const text = readFileSync(path.join(repository, file), 'utf8');
    return `${begin}\n\`\`\`${path.extname(file).slice(1)}\n${text}\`\`\`\n\n${end}`;
  });
}
