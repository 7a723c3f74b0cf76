document.body.classList.add("js");
