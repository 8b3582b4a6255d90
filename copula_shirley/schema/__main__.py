"""``python -m copula_shirley.schema``: the JSON Schema of schema files, for editors."""

import json

from copula_shirley.schema.schema import Schema

print(json.dumps(Schema.json_schema(), indent=2))
