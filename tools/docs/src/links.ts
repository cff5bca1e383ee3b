import { slugify } from '@mdit-vue/shared';

const fence = /^( *)(```|~~~)[\s\S]*?^\1\2 *$/gm;

/** The targets of all links and pictures of a page. */
export function linksOf(page: string): readonly string[] {
  const text = page.replaceAll(fence, '').replaceAll(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)/g)].map(([, target = '']) => target);
}

/** The anchors of the headings of a page, as VitePress makes them. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ''] of page.replaceAll(fence, '').matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = slugify(title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', ''));
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}
