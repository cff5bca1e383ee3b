/**
 * The page with current parts. A part stands between `<!-- made: NAME -->` and `<!-- /made -->`.
 * @throws Error if the page has no place for a part, or a place for an unknown part
 */
export function withParts(page: string, parts: ReadonlyMap<string, string>): string {
  const placed = new Set<string>();
  const text = page.replace(/<!-- made: (.+?) -->\n[\s\S]*?<!-- \/made -->/g, (_, name: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`nobody makes "${name}"`);
    placed.add(name);
    return `<!-- made: ${name} -->\n\n${part.trim()}\n\n<!-- /made -->`;
  });
  const homeless = [...parts.keys()].filter((name) => !placed.has(name));
  if (homeless.length > 0) throw new Error(`the page has no place for ${homeless.join(', ')}`);
  return text;
}
