// Biome does the formatting and the general rules. ESLint stays for what needs types, promises nobody awaits, and for two imports of one module.
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      '**/out-tsc/',
      '{packages,native}/*/types/',
      '**/coverage/',
      'native/*/build/',
      '.nx/',
      'docs/reference/api/',
      '.builds/',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.base],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      'no-duplicate-imports': ['error', { includeExports: true }],
    },
  },
);
