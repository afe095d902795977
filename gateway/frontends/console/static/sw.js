// Says that something waits, and opens the page. What was sent holds no more than which question it is.

addEventListener("push", (event) => {
  let id = "";
  try { id = String(event.data.json().id).replace(/[^0-9a-f]/g, ""); } catch { /* which one stands on the page */ }
  event.waitUntil(registration.showNotification("A call waits for an answer", {
    body: "Open the page to see it.", tag: id || "gateway", data: {id}, requireInteraction: true,
  }));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(clients.openWindow(event.notification.data.id ? `/q/${event.notification.data.id}` : "/"));
});
