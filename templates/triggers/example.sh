URL={{ url }}
BODY='{"event": "export.finished"}'
ID=$(openssl rand -hex 16)
NOW=$(date +%s)
SIGNATURE=$(printf '%s.%s.%s' "$ID" "$NOW" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -binary | base64)
curl -X POST "$URL" -H "webhook-id: $ID" -H "webhook-timestamp: $NOW" -H "webhook-signature: v1,$SIGNATURE" -H "content-type: application/json" -d "$BODY"
