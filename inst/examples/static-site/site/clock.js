fetch("/api/time")
  .then((response) => response.json())
  .then((answer) => { document.getElementById("time").textContent = answer.time; });
