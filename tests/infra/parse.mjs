// FOLDER NAME…: each .tf file as JSON, by its name; what is no HCL ends this with status 1 and the parser's words.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "@cdktf/hcl2json";

const [folder, ...names] = process.argv.slice(2);
const found = {};
for (const name of names) {
  try {
    found[name] = await parse(name, readFileSync(join(folder, name), "utf8"));
  } catch (error) {
    process.stderr.write(`${name}: ${error}\n`);
    process.exit(1);
  }
}
process.stdout.write(JSON.stringify(found));
