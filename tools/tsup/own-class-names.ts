/**
 * Restores the names of classes. If a class refers to itself, esbuild writes `var Mirrored = class
 * _Mirrored`, and messages would show the second name.
 * @returns the code, or undefined if no class needs it
 */
export function ownClassNames(code: string): string | undefined {
  const renamed = [...code.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, name]) => `_${name}`);
  if (renamed.length === 0) return undefined;
  return code.replace(new RegExp(`\\b(?:${renamed.join('|')})\\b`, 'g'), (name) => name.slice(1));
}
