// Answers each line of standard input, a prompt as a JSON string, with what Cline itself makes of it.
// The argument is the folder in which npm installed @cline/shared.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const module = createRequire(join(process.argv[2], "_")).resolve("@cline/shared");
const { formatDisplayUserInput, parseUserInputMode } = await import(pathToFileURL(module));

const answers = readFileSync(0, "utf8")
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line))
  .map((raw) => JSON.stringify([formatDisplayUserInput(raw), parseUserInputMode(raw) ?? null]));
process.stdout.write(answers.map((answer) => `${answer}\n`).join(""));
