"""A person with matrix-nio: logs in, waits to be asked, approves, sees the all-clear."""
import asyncio
import re
import sys

from nio import AsyncClient, LoginResponse, RoomMessageNotice, RoomMessageText, RoomSendResponse


async def main(server, user, password, room):
    client = AsyncClient(server, user)
    assert isinstance(await client.login(password), LoginResponse), "no login"
    seen = {"asked": False, "answered": False, "clear": False}

    async def hear(where, event):
        if where.room_id != room or event.sender == user:
            return
        body = event.body
        ask = re.search(r"approve (\d+) has this done", body)
        if ask and not seen["asked"]:
            seen["asked"] = True
            print("asked:", body, flush=True)
            content = {"msgtype": "m.text", "body": "approve that", "m.relates_to": {
                "rel_type": "m.thread", "event_id": event.event_id, "is_falling_back": True, "m.in_reply_to": {"event_id": event.event_id}}}
            sent = await client.room_send(room, "m.room.message", content)
            assert isinstance(sent, RoomSendResponse), sent
        elif body.startswith("Acted on your reply"):
            seen["answered"] = True
            relates = event.source["content"]["m.relates_to"]
            assert relates["rel_type"] == "m.thread", relates
            print("answered:", body, flush=True)
        elif "all clear" in body:
            seen["clear"] = True
            print(body, flush=True)

    client.add_event_callback(hear, (RoomMessageText, RoomMessageNotice))
    while not all(seen.values()):
        await client.sync(timeout=2000, full_state=False)
    await client.close()


asyncio.run(main(*sys.argv[1:]))
