"""CloudEvents 1.0: the canonical envelope as data, with attributes that routers understand.

- `json.CloudEventsFormat` (`cloudevents`): structured mode, one JSON object per event; `messages`
  and `read_messages` are the binary mode of its Kafka binding, attributes in headers.
- `attributes`: the attributes of an event.
"""
