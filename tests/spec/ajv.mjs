// Reads {"schema": ..., "documents": {name: document}} on stdin; prints {name: null or why not}.
// A schema that is none ends it with an error.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

const { schema, documents } = JSON.parse(readFileSync(0, "utf8"));
const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true });
if (!ajv.validateSchema(schema)) throw new Error(ajv.errorsText());
const validate = ajv.compile(schema);
const verdicts = {};
for (const [name, document] of Object.entries(documents))
  verdicts[name] = validate(document) ? null : ajv.errorsText(validate.errors);
console.log(JSON.stringify(verdicts));
