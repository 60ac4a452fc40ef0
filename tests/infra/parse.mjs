// Every .tf file of a folder as JSON, by its name; what is no HCL ends this with status 1 and the parser's words.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "@cdktf/hcl2json";

const folder = process.argv[2];
const found = {};
for (const name of readdirSync(folder).filter((each) => each.endsWith(".tf")).sort()) {
  try {
    found[name] = await parse(name, readFileSync(join(folder, name), "utf8"));
  } catch (error) {
    process.stderr.write(`${name}: ${error}\n`);
    process.exit(1);
  }
}
process.stdout.write(JSON.stringify(found));
